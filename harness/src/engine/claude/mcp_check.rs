//! Makes sure, before the model is asked anything, that it will have hive's tools.
//!
//! Claude Code goes on without the tools of a server that it could not reach when it started, and
//! does not try again by itself: it has to be asked to reconnect. Nothing here is ever logged: the
//! answers hold the bearer token.

use serde_json::{Value, json};

use super::protocol::{Init, McpServer};

/// Name of hive's server in the MCP configuration; tools are `mcp__hive__<name>`.
pub(super) const SERVER: &str = "hive";

/// How often the server may be looked at while it is being connected, and how often reconnected.
const RECONNECTS: u32 = 2;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// The tools are there.
    Ready,
    /// Ask again in a moment.
    LookAgain,
    /// Send this request.
    Ask(Value),
    /// The tools cannot be had, and why.
    Lost(String),
}

/// One check.
#[derive(Debug, Default)]
pub(super) struct McpCheck {
    reconnects: u32,
    reconnecting: bool,
}

// === impl McpCheck ===

impl McpCheck {
    /// The request that asks for the state of the servers.
    pub(super) fn status_request() -> Value {
        json!({"subtype": "mcp_status"})
    }

    /// Takes the answer to the last request.
    pub(super) fn on_reply(&mut self, reply: &Result<Value, String>) -> Next {
        if std::mem::take(&mut self.reconnecting) {
            return match reply {
                Ok(_) => Next::LookAgain,
                Err(why) => self.reconnect(why),
            };
        }
        match reply {
            Ok(answer) => self.on_status(answer),
            // A version without this request: the line that begins the turn is checked instead.
            Err(_) => Next::Ready,
        }
    }

    fn on_status(&mut self, answer: &Value) -> Next {
        let servers = answer
            .get("mcpServers")
            .cloned()
            .and_then(|servers| serde_json::from_value::<Vec<Lenient>>(servers).ok());
        let Some(servers) = servers else {
            return Next::Ready;
        };
        let Some(hive) = servers.iter().find(|server| server.name == SERVER) else {
            return Next::Lost("the server is not configured".to_owned());
        };
        match hive.status.as_str() {
            "connected" => Next::Ready,
            "pending" => Next::LookAgain,
            _ => {
                let why = hive.error.clone().unwrap_or_else(|| hive.status.clone());
                self.reconnect(&why)
            }
        }
    }

    fn reconnect(&mut self, why: &str) -> Next {
        if self.reconnects == RECONNECTS {
            return Next::Lost(why.to_owned());
        }
        self.reconnects += 1;
        self.reconnecting = true;
        Next::Ask(json!({"subtype": "mcp_reconnect", "serverName": SERVER}))
    }
}

/// A server as the status names it; its configuration is left unread.
#[derive(Debug, serde::Deserialize)]
struct Lenient {
    #[serde(default)]
    name: String,
    #[serde(default)]
    status: String,
    error: Option<String>,
}

/// Why the line that begins a turn says that hive's tools are missing, if it does.
pub(super) fn missing_in(init: &Init) -> Option<String> {
    let hive = init.mcp_servers.iter().find(|server| server.name == SERVER);
    match hive {
        None => Some("the server is not configured".to_owned()),
        Some(McpServer { status, .. }) if status == "failed" || status == "disabled" => {
            Some(format!("the server is {status}"))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: &str) -> Result<Value, String> {
        Ok(
            json!({"mcpServers": [{"name": "hive", "status": status, "error": "ECONNREFUSED",
            "config": {"headers": {"Authorization": "Bearer x"}}}]}),
        )
    }

    #[test]
    fn a_server_that_is_being_connected_is_looked_at_again() {
        let mut check = McpCheck::default();
        assert_eq!(check.on_reply(&status("pending")), Next::LookAgain);
        assert_eq!(check.on_reply(&status("connected")), Next::Ready);
    }

    #[test]
    fn a_failed_server_is_reconnected() {
        let mut check = McpCheck::default();
        let ask = check.on_reply(&status("failed"));
        assert_eq!(
            ask,
            Next::Ask(json!({"subtype": "mcp_reconnect", "serverName": "hive"}))
        );
        assert_eq!(check.on_reply(&Ok(Value::Null)), Next::LookAgain);
        assert_eq!(check.on_reply(&status("connected")), Next::Ready);
    }

    #[test]
    fn a_server_that_stays_away_is_given_up_with_its_reason() {
        let mut check = McpCheck::default();
        let refused = Err("ECONNREFUSED: Unable to connect".to_owned());
        assert!(matches!(check.on_reply(&status("failed")), Next::Ask(_)));
        assert!(matches!(check.on_reply(&refused), Next::Ask(_)));
        let lost = check.on_reply(&refused);
        assert_eq!(
            lost,
            Next::Lost("ECONNREFUSED: Unable to connect".to_owned())
        );
    }

    #[test]
    fn an_older_program_is_checked_by_its_first_line() {
        let mut check = McpCheck::default();
        assert_eq!(
            check.on_reply(&Err("unknown subtype".to_owned())),
            Next::Ready
        );
        let mut init = Init::default();
        assert!(missing_in(&init).is_some());
        for (status, missing) in [("connected", false), ("pending", false), ("failed", true)] {
            init.mcp_servers = vec![McpServer {
                name: "hive".to_owned(),
                status: status.to_owned(),
                error: String::new(),
            }];
            assert_eq!(missing_in(&init).is_some(), missing, "{status}");
        }
    }
}
