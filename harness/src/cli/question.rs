//! `hive question`: what agents asked, and withdrawing it.

use hive_proto::v1::{ListQuestionsRequest, Question, QuestionState};
use hive_proto::words;

use super::output::{self, Format};
use super::table::{Column, Table};
use super::{CliError, Ctx, escape, shapes, when};

/// What agents asked, of you or of each other.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive question ls")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Ls(LsArgs),
    Show(ShowArgs),
    Cancel(CancelArgs),
}

/// List open questions, oldest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive question ls --json")]
struct LsArgs {
    /// Also those that are decided.
    #[arg(long)]
    all: bool,
    /// With --all: at most so many of the newest.
    #[arg(short = 'n', long, default_value_t = 50)]
    limit: u32,
    #[command(flatten)]
    format: Format,
}

/// Show a question in full, with the numbers of its options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive question show 3")]
struct ShowArgs {
    /// The question's id.
    id: i64,
    #[command(flatten)]
    format: Format,
}

/// Withdraw a question: its asker gets `[cancelled]` for an answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive question cancel 3")]
struct CancelArgs {
    /// The question's id.
    id: i64,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    match args.command {
        Command::Ls(args) => ls(args, ctx).await,
        Command::Show(args) => show(args, ctx).await,
        Command::Cancel(args) => cancel(args, ctx).await,
    }
}

async fn ls(args: LsArgs, ctx: Ctx) -> Result<(), CliError> {
    let request = ListQuestionsRequest {
        all: args.all,
        limit: args.limit,
    };
    let questions = ctx.calls().questions(request).await?;
    if args.format.json {
        let list: Vec<_> = questions.iter().map(shapes::Question::from).collect();
        return output::json(&list);
    }
    if questions.is_empty() {
        return output::line(match args.all {
            true => "no questions",
            false => "no open questions",
        });
    }
    output::text(&rows(&questions, when::now_ms()))
}

async fn show(args: ShowArgs, ctx: Ctx) -> Result<(), CliError> {
    let question = ctx.calls().question(args.id).await?;
    if args.format.json {
        return output::json(&shapes::Question::from(&question));
    }
    output::text(&in_full(&question))
}

async fn cancel(args: CancelArgs, ctx: Ctx) -> Result<(), CliError> {
    let question = ctx.calls().cancel_question(args.id).await?;
    if args.format.json {
        return output::json(&shapes::Question::from(&question));
    }
    output::line(&format!("question {}: cancelled", question.id))
}

/// One row a question.
fn rows(questions: &[Question], now_ms: i64) -> String {
    let mut table = Table::new(&[
        Column::Number("ID"),
        Column::Whole("ASKER"),
        Column::Whole("TO"),
        Column::Whole("STATE"),
        Column::Number("AGE"),
        Column::Whole("UNTIL"),
        Column::Free("QUESTION"),
        Column::Free("OPTIONS"),
        Column::Free("ANSWER"),
    ]);
    for one in questions {
        let options: Vec<String> = numbered(one).collect();
        let until = match one.state() {
            QuestionState::Open => when::near(one.deadline_at_ms, now_ms),
            QuestionState::Unspecified
            | QuestionState::Answered
            | QuestionState::Expired
            | QuestionState::Cancelled => String::new(),
        };
        table.row([
            one.id.to_string().into(),
            one.asker.as_str().into(),
            one.target.as_str().into(),
            words::question_state(one.state()).into(),
            when::since(one.asked_at_ms, now_ms).into(),
            until.into(),
            one.question.as_str().into(),
            options.join("  ").into(),
            one.answer.as_str().into(),
        ]);
    }
    table.render()
}

fn numbered(question: &Question) -> impl Iterator<Item = String> {
    let options = question.options.iter().enumerate();
    options.map(|(at, option)| format!("{}: {}", at + 1, escape::line(option)))
}

/// A head line, the question, its options, and what became of it.
fn in_full(question: &Question) -> String {
    let state = words::question_state(question.state());
    let until = match question.deadline_at_ms {
        0 => String::new(),
        at => format!("  until {}", when::utc(at)),
    };
    let mut out = format!(
        "{}  {state}  {} asks {}  {}{until}\n{}",
        question.id,
        escape::line(&question.asker),
        escape::line(&question.target),
        when::utc(question.asked_at_ms),
        indented(&question.question),
    );
    if !question.options.is_empty() {
        out.push_str(match question.multi {
            true => "options, any number of them:\n",
            false => "options:\n",
        });
        for option in numbered(question) {
            out.push_str(&format!("    {option}\n"));
        }
    }
    if question.state() != QuestionState::Open {
        out.push_str(&format!(
            "{state} by {}  {}\n{}",
            escape::line(&question.answerer),
            when::utc(question.finished_at_ms),
            indented(&question.answer),
        ));
    }
    out
}

fn indented(text: &str) -> String {
    let text = escape::block(text.trim_end());
    format!("    {}\n", text.replace('\n', "\n    "))
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{Question, QuestionState};

    use super::super::shapes;
    use super::{in_full, rows};

    fn question() -> Question {
        Question {
            id: 3,
            asker: "cook".to_owned(),
            target: "operator".to_owned(),
            question: "What do we\ncook?".to_owned(),
            options: vec!["fish\u{202e}".to_owned(), "soup".to_owned()],
            state: QuestionState::Open.into(),
            asked_at_ms: 1_700_000_000_000,
            deadline_at_ms: 1_700_000_600_000,
            ..Question::default()
        }
    }

    fn answered() -> Question {
        Question {
            state: QuestionState::Answered.into(),
            answer: "soup".to_owned(),
            answerer: "operator".to_owned(),
            finished_at_ms: 1_700_000_300_000,
            multi: true,
            ..question()
        }
    }

    #[test]
    fn questions_are_listed_with_the_numbers_of_their_options() {
        insta::assert_snapshot!(rows(&[question(), answered()], 1_700_000_360_000), @r"
        ID  ASKER  TO        STATE     AGE  UNTIL      QUESTION           OPTIONS                   ANSWER
         3  cook   operator  open       6m  22:23:20Z  What do we\ncook?  1: fish\u{202e}  2: soup
         3  cook   operator  answered   6m             What do we\ncook?  1: fish\u{202e}  2: soup  soup
        ");
    }

    #[test]
    fn one_is_shown_in_full() {
        insta::assert_snapshot!(in_full(&question()), @r"
        3  open  cook asks operator  2023-11-14 22:13:20Z  until 2023-11-14 22:23:20Z
            What do we
            cook?
        options:
            1: fish\u{202e}
            2: soup
        ");
        let shown = in_full(&answered());
        assert!(shown.contains("any number of them"), "{shown}");
        let end = "answered by operator  2023-11-14 22:18:20Z\n    soup\n";
        assert!(shown.ends_with(end), "{shown}");
    }

    #[test]
    fn the_json_has_its_stable_keys() {
        let json = serde_json::to_value(shapes::Question::from(&question())).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "id": 3, "asker": "cook", "target": "operator", "question": "What do we\ncook?",
                "options": ["fish\u{202e}", "soup"], "multi": false, "state": "open",
                "asked_at": "2023-11-14T22:13:20.000Z", "deadline_at": "2023-11-14T22:23:20.000Z",
                "answer": null, "answerer": null, "finished_at": null,
            })
        );
    }
}
