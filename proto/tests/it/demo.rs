//! The demo's story, played without any program: who says what to whom, and in which order.

use std::collections::{HashMap, VecDeque};

use hive_proto::mail::Mail;
use hive_proto::script::{Act, Incoming, Script, Seen};
use serde_json::json;

/// Inboxes by name, and how each rule's tool calls act on them.
struct Stage {
    script: Script,
    boxes: HashMap<String, VecDeque<Mail>>,
    ids: i64,
    told: Vec<String>,
}

impl Stage {
    fn send(&mut self, from: &str, to: &str, body: &str) {
        self.ids += 1;
        let mail = Mail {
            id: self.ids,
            from: from.to_owned(),
            in_reply_to: None,
            redelivered: false,
            body: body.to_owned(),
        };
        self.told.push(format!("{from} -> {to}: {body}"));
        self.boxes.entry(to.to_owned()).or_default().push_back(mail);
    }

    /// Plays one turn of `agent`; whoever it waits for has a turn first.
    fn turn(&mut self, agent: &str) {
        let mail = self.boxes.get_mut(agent).unwrap().pop_front().unwrap();
        let incoming = Incoming {
            agent: agent.to_owned(),
            from: mail.from,
            id: mail.id,
            body: mail.body,
            redelivered: false,
        };
        let script = self.script.clone();
        let play = script.pick(&incoming, &mut Seen::default()).unwrap();
        let mut values = play.values;
        for step in &play.rule.steps {
            let Act::Tool { name, args } = &step.act else {
                continue;
            };
            let args = values.json(args);
            let result = match name.as_str() {
                "send" => {
                    let (to, body) = (args["to"].as_str(), args["body"].as_str());
                    self.send(agent, to.unwrap(), body.unwrap());
                    "sent".to_owned()
                }
                "recv" => {
                    for other in ["scout", "cook"] {
                        if self.boxes.get(other).is_some_and(|mail| !mail.is_empty()) {
                            self.turn(other);
                        }
                    }
                    let inbox = self.boxes.get_mut(agent).unwrap();
                    let mail = inbox.pop_front().unwrap();
                    let row = json!({ "id": mail.id, "from": mail.from, "body": mail.body });
                    json!({ "messages": [row], "remaining": 0 }).to_string()
                }
                "set_status" => "set".to_owned(),
                other => panic!("the demo calls {other}"),
            };
            values.result(step, result);
        }
    }
}

fn stage() -> Stage {
    let text = include_str!("../../../deploy/demo.toml");
    Stage {
        script: Script::parse(text).unwrap_or_else(|faults| panic!("{faults}")),
        boxes: HashMap::new(),
        ids: 0,
        told: Vec::new(),
    }
}

#[test]
fn the_demo_plans_a_picnic() {
    let mut stage = stage();
    stage.send("operator", "lead", "plan a picnic");
    stage.turn("lead");
    assert_eq!(
        stage.told,
        [
            "operator -> lead: plan a picnic",
            "lead -> cook: What shall we eat? operator wants a picnic.",
            "lead -> scout: Where shall we go? operator wants a picnic.",
            "scout -> lead: the meadow by the old mill; it stays dry until six.",
            "cook -> lead: bread, olives, a quiche, and cherries for a picnic.",
            "lead -> operator: Here is the plan for a picnic.\n\
             - scout says: the meadow by the old mill; it stays dry until six.\n\
             - cook says: bread, olives, a quiche, and cherries for a picnic.",
        ]
    );
}

#[test]
fn whoever_the_operator_writes_to_answers() {
    for agent in ["lead", "cook", "scout", "bob"] {
        let mut stage = stage();
        stage.send("operator", agent, "hello");
        stage.turn(agent);
        let last = stage.told.last().unwrap();
        assert!(
            last.starts_with(&format!("{agent} -> operator: ")),
            "{last}"
        );
    }
}
