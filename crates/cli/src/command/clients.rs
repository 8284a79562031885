//! Configuration of MCP clients, ready to paste.

use docket_core::model::Slug;
use serde::Serialize;
use serde_json::{Value, json};

use crate::database::Place;
use crate::output::{Paint, escape};

/// How to start the server, in the words of each client.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Clients {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    claude_code: String,
    claude_desktop: Value,
    cursor: Value,
    vs_code: Value,
    codex: String,
}

impl Clients {
    pub(crate) fn new(database: &Place, project: &Slug, surface: &str) -> Self {
        let command = std::env::current_exe().map_or_else(|_| "docket".to_owned(), |path| path.display().to_string());
        let args: Vec<String> = ["--db", &database.word(), "mcp", "--surface", surface, "--project", project.as_str()]
            .map(ToOwned::to_owned)
            .to_vec();
        let server = json!({ "command": command, "args": args });
        let words: Vec<String> = std::iter::once(&command).chain(&args).map(|word| shell_word(word)).collect();
        Self {
            claude_code: format!("claude mcp add docket -- {}", words.join(" ")),
            claude_desktop: json!({ "mcpServers": { "docket": server } }),
            cursor: json!({ "mcpServers": { "docket": server } }),
            vs_code: json!({ "servers": { "docket": { "type": "stdio", "command": command, "args": args } } }),
            codex: format!("[mcp_servers.docket]\ncommand = {}\nargs = {}", json!(command), json!(args)),
            command,
            args,
        }
    }
}

/// The same for a person.
pub(crate) fn render(clients: &Clients, paint: Paint) -> Vec<String> {
    let json = |value: &Value| crate::output::json::pretty(value).unwrap_or_default();
    let mut lines = Vec::new();
    for (client, place, text) in [
        ("Claude Code", "run", clients.claude_code.clone()),
        ("Claude Desktop", "in claude_desktop_config.json", json(&clients.claude_desktop)),
        ("Cursor", "in .cursor/mcp.json", json(&clients.cursor)),
        ("VS Code", "in .vscode/mcp.json", json(&clients.vs_code)),
        ("Codex CLI", "in ~/.codex/config.toml", clients.codex.clone()),
    ] {
        lines.push(String::new());
        lines.push(format!("{} {}", paint.bold(client), paint.dim(&format!("({place})"))));
        lines.extend(text.lines().map(|line| format!("  {}", escape::line(line))));
    }
    lines
}

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/-_.:,=+@%".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell_word("/usr/bin/docket"), "/usr/bin/docket");
        assert_eq!(shell_word("sqlite:/my work/it's.db"), "'sqlite:/my work/it'\\''s.db'");
    }
}
