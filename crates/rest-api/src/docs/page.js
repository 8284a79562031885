// Renders the OpenAPI document of this server. All text is set as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function resolve(api, schema) {
  if (!schema || !schema.$ref) return schema || {};
  return schema.$ref.replace("#/", "").split("/").reduce((at, name) => at[name], api);
}

function typeOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.oneOf || schema.anyOf || schema.allOf) {
    return (schema.oneOf || schema.anyOf || schema.allOf).map(typeOf).filter((part) => part !== "null").join(" | ");
  }
  const types = [].concat(schema.type || "any").filter((type) => type !== "null");
  if (types[0] === "array") return `list of ${typeOf(schema.items)}`;
  if (schema.enum) return schema.enum.join(" | ");
  return types.join(" | ") + (schema.format ? ` (${schema.format})` : "");
}

function fieldsOf(api, schema) {
  const whole = resolve(api, schema);
  const parts = [whole, ...(whole.allOf || []).map((part) => resolve(api, part))];
  const rows = [];
  for (const part of parts) {
    for (const [name, field] of Object.entries(part.properties || {})) {
      const about = field.description || resolve(api, field).description || "";
      rows.push([name + ((part.required || []).includes(name) ? " *" : ""), typeOf(field), about]);
    }
  }
  return rows;
}

function table(rows) {
  const body = rows.map((row) => element("tr", {}, ...row.map((cell, at) =>
    element("td", {}, at === 0 ? element("code", {}, cell) : cell))));
  return element("table", {}, element("tbody", {}, ...body));
}

function section(title, ...content) {
  return [element("h4", {}, title), ...content];
}

function operation(api, path, method, described) {
  const id = described.operationId;
  const made = element("article", { id });
  made.append(element("h3", {}, element("span", { class: `verb ${method}` }, method.toUpperCase()),
    element("code", {}, api.servers[0].url + path)));
  made.append(element("p", {}, element("strong", {}, described.summary || ""), " ", described.description || ""));
  const parameters = (described.parameters || []).map((parameter) =>
    [parameter.name + (parameter.required ? " *" : ""), `${parameter.in}, ${typeOf(parameter.schema)}`, parameter.description || ""]);
  if (parameters.length) made.append(...section("Parameters", table(parameters)));
  for (const [kind, content] of Object.entries((described.requestBody || {}).content || {})) {
    const rows = fieldsOf(api, content.schema);
    made.append(...section(`Body: ${kind}`, rows.length ? table(rows) : ""));
  }
  for (const sample of described["x-codeSamples"] || []) {
    made.append(...section("Example", element("pre", {}, sample.source)));
  }
  const good = Object.entries(described.responses).filter(([status]) => status < "400");
  for (const [status, response] of good) {
    const content = Object.values(response.content || {})[0];
    const rows = content ? fieldsOf(api, content.schema) : [];
    made.append(...section(`${status}: ${response.description}`, rows.length ? table(rows) : ""));
  }
  const bad = Object.entries(described.responses).filter(([status]) => status >= "400");
  made.append(element("details", {}, element("summary", {}, "Failures"),
    table(bad.map(([status, response]) => [status, response.description]))));
  made.dataset.words = `${method} ${path} ${described.summary} ${described.description || ""} ${(described.tags || []).join(" ")}`.toLowerCase();
  return made;
}

function render(api) {
  document.getElementById("about").textContent = `Version ${api.info.version}. ${api.info.description}`;
  const index = document.getElementById("index");
  const operations = document.getElementById("operations");
  for (const tag of api.tags) {
    const links = [];
    for (const [path, item] of Object.entries(api.paths)) {
      for (const method of METHODS.filter((known) => item[known] && item[known].tags.includes(tag.name))) {
        const described = item[method];
        operations.append(operation(api, path, method, described));
        links.push(element("a", { href: `#${described.operationId}` },
          element("span", { class: `verb ${method}` }, method.toUpperCase()), described.summary));
      }
    }
    index.append(element("h2", { title: tag.description }, tag.name), ...links);
  }
  document.getElementById("find").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const article of operations.children) {
      article.hidden = !words.every((word) => article.dataset.words.includes(word));
    }
  });
  if (location.hash) document.querySelector(location.hash)?.scrollIntoView();
}

fetch("/api/v1/openapi.json").then((answer) => answer.json()).then(render).catch((error) => {
  document.getElementById("about").textContent = `The document could not be read: ${error}`;
});
