// Renders the OpenAPI document of this server. All text is set as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A text whose words between backticks are code, and lead to the schema of that name where there is one.
function prose(api, text) {
  return text.split("`").map((part, at) => (at % 2 ? codeWord(api, part) : part));
}

function codeWord(api, word) {
  const code = element("code", {}, word);
  return Object.hasOwn(api.components.schemas, word) ? element("a", { href: `#${anchor(word)}` }, code) : code;
}

function anchor(name) {
  return `schema-${name}`;
}

function resolve(api, schema) {
  if (!schema || !schema.$ref) return schema || {};
  return schema.$ref.replace("#/", "").split("/").reduce((at, name) => at[name], api);
}

// Puts a word between the parts of a list.
function joined(parts, word) {
  return parts.flatMap((part, at) => (at ? [word, ...part] : part));
}

// What a value may be, with ways to what is named.
function typeOf(schema) {
  if (!schema) return [];
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return [element("a", { href: `#${anchor(name)}` }, name)];
  }
  const all = schema.oneOf || schema.anyOf || schema.allOf;
  if (all) return joined(all.map(typeOf).filter((part) => part.length), schema.allOf ? " and " : " | ");
  if (schema.enum) return [schema.enum.join(" | ")];
  const types = [].concat(schema.type || "any").filter((type) => type !== "null");
  if (!types.length) return [];
  if (types[0] === "array") return ["list of ", ...typeOf(schema.items)];
  return [types.join(" | ") + (schema.format ? ` (${schema.format})` : "")];
}

// What is said of a field: at the field, or where it is null or something, at the something.
function aboutOf(api, field) {
  const parts = [field, ...(field.oneOf || [])];
  const told = [...parts, ...parts.map((part) => resolve(api, part))].find((part) => part.description);
  return told ? told.description : "";
}

// The fields of a schema; those of an object without a name of its own stand beneath it, after its name and a point.
function fieldsOf(api, schema, before = "") {
  const whole = resolve(api, schema);
  const rows = [];
  for (const part of whole.allOf || []) rows.push(...fieldsOf(api, part, before));
  for (const [name, field] of Object.entries(whole.properties || {})) {
    const mark = (whole.required || []).includes(name) ? " *" : "";
    rows.push([[element("code", {}, before + name + mark)], typeOf(field), prose(api, aboutOf(api, field))]);
    if (field.properties) rows.push(...fieldsOf(api, field, `${before}${name}.`));
  }
  return rows;
}

function table(rows) {
  const body = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, ...cell))));
  return element("table", {}, element("tbody", {}, ...body));
}

function section(title, ...content) {
  return [element("h4", {}, title), ...content];
}

// The fields of a body or an answer, or what it is where it has none.
function shape(api, schema) {
  const rows = fieldsOf(api, schema);
  if (rows.length) return table(rows);
  const type = typeOf(schema);
  return type.length ? element("p", {}, ...type) : "";
}

// An example as it can be pasted here: at this server, and with a key where it wants one.
function pasted(source, wantsKey) {
  const here = source.replace(/'\w+:\/\/[^\/']+/, `'${location.origin}`);
  return wantsKey ? here.replace(/^curl -s/, 'curl -s -H "authorization: Bearer $DOCKET_KEY"') : here;
}

function operation(api, path, method, described, wantsKey) {
  const id = described.operationId;
  const made = element("article", { id });
  made.append(element("h3", {}, element("span", { class: `verb ${method}` }, method.toUpperCase()),
    element("code", {}, api.servers[0].url + path)));
  made.append(element("p", {}, element("strong", {}, described.summary || ""), " ", ...prose(api, described.description || "")));
  const parameters = (described.parameters || []).map((parameter) => [
    [element("code", {}, parameter.name + (parameter.required ? " *" : ""))],
    [`${parameter.in}, `, ...typeOf(parameter.schema)], prose(api, parameter.description || "")]);
  if (parameters.length) made.append(...section("Parameters", table(parameters)));
  for (const [kind, content] of Object.entries((described.requestBody || {}).content || {})) {
    made.append(...section(`Body: ${kind}`, shape(api, content.schema)));
  }
  for (const sample of described["x-codeSamples"] || []) {
    made.append(...section("Example", element("pre", {}, pasted(sample.source, wantsKey))));
  }
  const answers = Object.entries(described.responses);
  for (const [status, response] of answers.filter(([status]) => status < "400")) {
    const content = Object.values(response.content || {})[0];
    made.append(...section(`${status}: ${response.description}`, content ? shape(api, content.schema) : ""));
  }
  const bad = answers.filter(([status]) => status >= "400");
  made.append(element("details", {}, element("summary", {}, "Failures"),
    table(bad.map(([status, response]) => [[element("code", {}, status)], prose(api, response.description)]))));
  made.dataset.words = `${method} ${path} ${described.summary} ${described.description || ""} ${(described.tags || []).join(" ")}`.toLowerCase();
  return made;
}

// What a value is: its fields, its words, or each of the forms that it may have.
function schemaOf(api, name, schema) {
  const made = element("article", { id: anchor(name) });
  made.append(element("h3", {}, element("code", {}, name)), element("p", {}, ...prose(api, schema.description || "")));
  const forms = schema.oneOf || schema.anyOf || [schema];
  for (const form of forms) {
    if (forms.length > 1 && form.description) made.append(element("p", {}, ...prose(api, form.description)));
    made.append(shape(api, form));
  }
  const bounds = Object.entries({
    "pattern": schema.pattern, "for example": (schema.examples || []).join(", ") || undefined, "at least": schema.minimum,
    "at most": schema.maximum, "length at least": schema.minLength, "length at most": schema.maxLength,
  }).filter(([, value]) => value !== undefined);
  if (bounds.length) made.append(table(bounds.map(([what, value]) => [[what], [element("code", {}, String(value))]])));
  made.dataset.words = `schema ${name} ${schema.description || ""} ${(schema.enum || []).join(" ")}`.toLowerCase();
  return made;
}

function render(api, wantsKey) {
  document.getElementById("about").replaceChildren(...prose(api, `Version ${api.info.version}. ${api.info.description}`));
  document.getElementById("key").hidden = !wantsKey;
  const index = document.getElementById("index");
  const operations = document.getElementById("operations");
  const group = (title, about, links) => index.append(element("section", {}, element("h2", { title: about }, title), ...links));
  for (const tag of api.tags) {
    const links = [];
    for (const [path, item] of Object.entries(api.paths)) {
      for (const method of METHODS.filter((known) => item[known] && item[known].tags.includes(tag.name))) {
        const described = item[method];
        operations.append(operation(api, path, method, described, wantsKey));
        links.push(element("a", { href: `#${described.operationId}` },
          element("span", { class: `verb ${method}` }, method.toUpperCase()), described.summary));
      }
    }
    group(tag.name, tag.description, links);
  }
  const schemas = Object.entries(api.components.schemas).sort(([one], [other]) => one.localeCompare(other));
  operations.append(...schemas.map(([name, schema]) => schemaOf(api, name, schema)));
  group("schemas", "What bodies and answers are made of", schemas.map(([name]) => element("a", { href: `#${anchor(name)}` }, name)));
  const find = document.getElementById("find");
  find.addEventListener("input", () => filter(find.value, index, operations));
  if (find.value) filter(find.value, index, operations);
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

// Shows what has all the words, in the list beside it as well.
function filter(text, index, operations) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const hidden = new Set();
  for (const article of operations.children) {
    article.hidden = !words.every((word) => article.dataset.words.includes(word));
    if (article.hidden) hidden.add(`#${article.id}`);
  }
  for (const group of index.children) {
    const links = [...group.querySelectorAll("a")];
    for (const link of links) link.hidden = hidden.has(link.getAttribute("href"));
    group.hidden = links.every((link) => link.hidden);
  }
}

// Whether a caller without a key is sent away.
async function keyWanted() {
  return (await fetch("/api/v1/me")).status === 401;
}

async function start() {
  const answer = await fetch("/api/v1/openapi.json");
  render(await answer.json(), await keyWanted());
}

start().catch((error) => {
  document.getElementById("about").textContent = `The document could not be read: ${error}`;
});
