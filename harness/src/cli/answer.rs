//! `hive answer`: answers a question, by words or by the numbers of its options.

use hive_proto::v1::{Question, QuestionState};

use super::output::{self, Format};
use super::{CliError, Ctx, escape, send, shapes};

/// Answer a question; whoever asked gets the answer as a message.
///
/// Where the question has options, their numbers as `hive question show` gives them will do: `2`, and
/// where several may be chosen `1,3`. Any other text is as good an answer. The first answer counts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive answer 3 \"soup, and bread with it\"")]
pub struct Args {
    /// The question's id.
    id: i64,
    /// The answer: text, numbers of options, or `-` to read text from stdin.
    text: String,
    #[command(flatten)]
    format: Format,
}

/// Numbers that do not fit the question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum WrongChoice {
    #[error("question {id} has no option {number}: there are {count}")]
    NoSuchOption {
        id: i64,
        number: String,
        count: usize,
    },
    #[error("question {id} takes one option")]
    OnlyOne { id: i64 },
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let calls = ctx.calls();
    let answer = match args.text.as_str() {
        "-" => {
            let text = send::read_stdin()?;
            text.trim_end_matches(['\r', '\n']).to_owned()
        }
        text => {
            let question = calls.question(args.id).await?;
            chosen(&question, text).map_err(|wrong| {
                CliError::usage(wrong.to_string()).with_hint(
                    "hive question show lists the options; text from stdin (`-`) is taken as it is",
                )
            })?
        }
    };
    let question = calls.answer_question(args.id, answer).await?;
    if args.format.json {
        return output::json(&shapes::Question::from(&question));
    }
    output::line(&format!(
        "question {}: answered {}",
        question.id,
        escape::line(&first_line(&question.answer))
    ))
}

/// What was meant: the options of those numbers, or the text itself.
fn chosen(question: &Question, text: &str) -> Result<String, WrongChoice> {
    let options = &question.options;
    // An option that looks like a number is meant by its own text; of a decided one only the refusal
    // matters, which says who was first.
    let is_open = question.state() == QuestionState::Open;
    let is_option = options.iter().any(|option| option == text);
    let numbers: Vec<&str> = text.split(',').map(str::trim).collect();
    let all_numbers = numbers.iter().all(|number| is_number(number));
    if options.is_empty() || !is_open || is_option || !all_numbers {
        return Ok(text.to_owned());
    }
    if numbers.len() > 1 && !question.multi {
        return Err(WrongChoice::OnlyOne { id: question.id });
    }
    let mut picked: Vec<&str> = Vec::new();
    for number in numbers {
        let at = number.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        let Some(option) = at.and_then(|at| options.get(at)) else {
            return Err(WrongChoice::NoSuchOption {
                id: question.id,
                number: number.to_owned(),
                count: options.len(),
            });
        };
        if !picked.contains(&option.as_str()) {
            picked.push(option);
        }
    }
    Ok(picked.join(", "))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Enough to see what was taken.
fn first_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    match lines.next() {
        None => first.to_owned(),
        Some(_) => format!("{first} …"),
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{Question, QuestionState};

    use super::{WrongChoice, chosen};

    fn asked(options: &[&str], multi: bool) -> Question {
        Question {
            id: 1,
            options: options.iter().map(|&option| option.to_owned()).collect(),
            multi,
            state: QuestionState::Open.into(),
            ..Question::default()
        }
    }

    #[test]
    fn numbers_mean_options_where_there_are_some() {
        let one = asked(&["fish", "soup", "stew"], false);
        let many = asked(&["fish", "soup", "stew"], true);
        let free = asked(&[], false);
        let years = asked(&["3", "2", "1"], false);
        for (question, text, answer) in [
            (&one, "2", "soup"),
            (&one, "soup", "soup"),
            (&one, "neither of them", "neither of them"),
            (&one, "2 of them", "2 of them"),
            (&one, "-1", "-1"),
            (&one, "", ""),
            (&many, "3, 1", "stew, fish"),
            (&many, "2,2", "soup"),
            (&many, "fish,1", "fish,1"),
            (&free, "2", "2"),
            (&free, "1,2", "1,2"),
            (&years, "3", "3"),
        ] {
            assert_eq!(chosen(question, text).as_deref(), Ok(answer), "{text:?}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_not_sent() {
        let one = asked(&["fish", "soup", "stew"], false);
        let many = asked(&["fish", "soup", "stew"], true);
        for (question, text, number) in [
            (&one, "0", "0"),
            (&one, "4", "4"),
            (&many, "1,4", "4"),
            (&one, "99999999999999999999999", "99999999999999999999999"),
        ] {
            let wrong = WrongChoice::NoSuchOption {
                id: 1,
                number: number.to_owned(),
                count: 3,
            };
            assert_eq!(chosen(question, text), Err(wrong));
        }
        assert_eq!(chosen(&one, "1,2"), Err(WrongChoice::OnlyOne { id: 1 }));
    }

    #[test]
    fn of_a_decided_one_the_broker_says_who_was_first() {
        let mut late = asked(&["fish"], false);
        late.set_state(QuestionState::Answered);
        assert_eq!(chosen(&late, "9").as_deref(), Ok("9"));
    }
}
