//! The names that a script has bound, and how jobs and outcomes are printed.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::PathBuf;

use wq::{
    Causes, Durability, ErrorCode, EventReader, Header, JobInfo, Outcome, Queue, Store, Token,
};

use crate::script::{queue_word, quoted, Line};

/// Why an operation has no results.
pub enum Fail {
    /// The script itself is wrong: the runner ends.
    Script(String),
    /// The error that is its result.
    Refused(ErrorCode),
}

impl From<wq::Error> for Fail {
    fn from(error: wq::Error) -> Fail {
        Fail::Refused(error.code())
    }
}

pub type Done = Result<(), Fail>;
pub type Op = fn(&mut Runner, &Line) -> Done;

/// An operation that was begun: prints what became of it.
pub type UnderWay = Box<dyn FnOnce(&mut Runner) -> Done>;

#[derive(Clone, Debug)]
pub struct Named {
    pub queue: String,
    pub token: Token,
}

pub struct Runner {
    directory: PathBuf,
    pub output: String,
    store: Option<Store>,
    pub events: Option<EventReader>,
    queues: BTreeMap<String, Queue>,
    jobs: HashMap<String, Named>,
    job_names: HashMap<u64, String>,
    flows: HashMap<String, u64>,
    flow_names: HashMap<u64, String>,
    pub versions: HashMap<String, u64>,
    pub under_way: HashMap<String, UnderWay>,
}

impl Runner {
    pub fn new(directory: &str) -> Runner {
        Runner {
            directory: directory.into(),
            output: String::new(),
            store: None,
            events: None,
            queues: BTreeMap::new(),
            jobs: HashMap::new(),
            job_names: HashMap::new(),
            flows: HashMap::new(),
            flow_names: HashMap::new(),
            versions: HashMap::new(),
            under_way: HashMap::new(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn print(&mut self, text: &str) {
        self.output.push_str(text);
        self.output.push('\n');
    }

    pub fn row(&mut self, text: &str) {
        self.output.push_str("  ");
        self.print(text);
    }

    pub fn opened(&mut self, store: Store) {
        self.queues.clear();
        self.events = Some(store.events());
        self.store = Some(store);
    }

    /// The store, with the durability of the line.
    pub fn store(&self, line: &Line) -> Result<Store, Fail> {
        let store = self.store.clone().ok_or_else(|| Fail::Script("no store".to_string()))?;
        Ok(durability(line)?.map_or(store.clone(), |level| store.with_durability(level)))
    }

    pub fn bind_queue(&mut self, handle: &str, queue: Queue) {
        self.queues.insert(handle.to_string(), queue);
    }

    pub fn queue(&self, handle: &str) -> Result<Queue, Fail> {
        let queue = self.queues.get(handle).cloned();
        queue.ok_or_else(|| Fail::Script(format!("no queue handle {}", handle)))
    }

    /// The queue of `q=`, with the durability of the line.
    pub fn queue_of(&self, line: &Line) -> Result<Queue, Fail> {
        let queue = self.queue(line.must_text("q")?)?;
        Ok(durability(line)?.map_or(queue.clone(), |level| queue.with_durability(level)))
    }

    pub fn named(&self, name: &str) -> Result<Named, Fail> {
        let job = self.jobs.get(name).cloned();
        job.ok_or_else(|| Fail::Script(format!("no job has the name {}", name)))
    }

    /// Queue and token of `job=`.
    pub fn target(&self, line: &Line) -> Result<(Queue, Token), Fail> {
        let job = self.named(line.must_text("job")?)?;
        let queue = self.queue(line.get("q").map_or(Ok(&*job.queue), |_| line.text("q"))?)?;
        let queue = durability(line)?.map_or(queue.clone(), |level| queue.with_durability(level));
        Ok((queue, job.token))
    }

    pub fn bind(&mut self, name: &str, queue: &str, token: Token) {
        self.jobs.insert(name.to_string(), Named { queue: queue.to_string(), token });
        self.job_names.entry(token.id).or_insert_with(|| name.to_string());
    }

    pub fn name_of(&self, id: u64) -> String {
        self.job_names.get(&id).cloned().unwrap_or_else(|| "?".to_string())
    }

    fn handle_of(&self, queue_name: &str) -> String {
        let found = self.queues.iter().find(|(_, queue)| queue.name() == queue_name);
        found.map_or(queue_name, |(handle, _)| handle).to_string()
    }

    /// Take the token of a job that was told; one with no name gets the next of `fresh`.
    pub fn learn(&mut self, job: &JobInfo, fresh: &mut std::vec::IntoIter<&str>) {
        let queue = self.handle_of(&job.queue_name);
        let name = match self.job_names.get(&job.id) {
            Some(name) => name.clone(),
            None => match fresh.next() {
                Some(name) => name.to_string(),
                None => return,
            },
        };
        self.bind(&name, &queue, job.token());
    }

    pub fn bind_flow(&mut self, name: &str, flow: u64) {
        self.flows.insert(name.to_string(), flow);
        self.flow_names.entry(flow).or_insert_with(|| name.to_string());
    }

    pub fn flow(&self, line: &Line) -> Result<u64, Fail> {
        let name = line.must_text("flow")?;
        let flow = self.flows.get(name).copied();
        flow.ok_or_else(|| Fail::Script(format!("no flow has the name {}", name)))
    }

    pub fn flow_name(&self, flow: u64) -> String {
        self.flow_names.get(&flow).cloned().unwrap_or_else(|| "?".to_string())
    }

    pub fn version(&self, line: &Line) -> Result<Option<u64>, Fail> {
        if !line.has("version") {
            return Ok(None);
        }
        let version = self.versions.get(line.text("version")?).copied();
        version.map(Some).ok_or_else(|| Fail::Script("no such version".to_string()))
    }

    fn header_text(&self, header: &Header) -> String {
        let mut value = header.value.clone();
        if header.name == b"wq-slot-ms" {
            value = b"*".to_vec();
        }
        if header.name == b"wq-batch" {
            let id = std::str::from_utf8(&value).ok().and_then(|text| text.parse::<u64>().ok());
            if let Some(name) = id.and_then(|id| self.flow_names.get(&id)) {
                value = name.clone().into_bytes();
            }
        }
        quoted([&header.name[..], b"=", &value].concat())
    }

    pub fn print_job(&mut self, job: &JobInfo) {
        let mut text = format!(
            "{} queue={} state={} priority={} attempts={} max_attempts={} payload={}",
            self.name_of(job.id),
            queue_word(&job.queue_name),
            job.state,
            job.priority,
            job.attempts,
            job.max_attempts,
            quoted(&job.payload)
        );
        text += &if_some("exceptions", job.exceptions);
        text += &if_some("replays", job.replays);
        if let Some(reason) = job.dead_reason {
            let _ = write!(text, " dead_reason={}", reason);
        }
        text += set("deadline_ms", job.deadline.is_some());
        text += set("dead_ms", job.dead.is_some());
        text += set("first_dead_ms", job.first_dead.is_some());
        for header in &job.headers {
            let _ = write!(text, " header={}", self.header_text(header));
        }
        if job.last_error.starts_with(b"the payload of job") {
            text += " last_error=*";
        } else {
            text += &if_bytes("last_error", &job.last_error);
        }
        text += &if_some("timeout_ms", job.timeout.map_or(0, |timeout| timeout.as_millis() as u64));
        text += set("expires_at_ms", job.expires_at.is_some());
        text += set("retry_until_ms", job.retry_until.is_some());
        text += &if_some("max_exceptions", job.max_exceptions);
        let flags = [(job.fail_on_timeout, "fail_on_timeout"), (job.key_id.is_some(), "encrypt")];
        text += &flag_words(&flags);
        text += &if_bytes("progress", &job.progress);
        if let Some(flow) = job.flow {
            let _ = write!(text, " flow={}", self.flow_name(flow));
        }
        text += &if_some("chain_count", job.chain_count);
        text += &if_some("flow_cancelled", job.flow_cancelled);
        text += &if_bytes("group", &job.group);
        text += &if_some("parked", job.parked);
        text += &if_bytes("tenant", &job.tenant);
        text += &if_bytes("rate_key", &job.rate_key);
        if !job.rate_key.is_empty() {
            text += &if_some("rate_cost", job.rate_cost);
        }
        text += &key_text(job.key_id, "payload_code", job.payload_error);
        self.row(&text);
    }
}

/// ` flags=a,b` of those that are set.
pub fn flag_words(flags: &[(bool, &str)]) -> String {
    let words: Vec<&str> = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
    if words.is_empty() {
        return String::new();
    }
    format!(" flags={}", words.join(","))
}

/// How something is sealed, and why it does not open.
pub fn key_text(key_id: Option<u32>, key: &str, error: Option<ErrorCode>) -> String {
    let error = error.map_or(String::new(), |code| format!(" {}=WQ_E_{}", key, code.name()));
    if_some("key_id", key_id.unwrap_or_default()) + &error
}

pub fn durability(line: &Line) -> Result<Option<Durability>, Fail> {
    if !line.has("durability") {
        return Ok(None);
    }
    let word = line.text("durability")?;
    let level = Durability::ALL.iter().find(|level| level.name() == word).copied();
    level.map(Some).ok_or_else(|| Fail::Script(format!("no durability {}", word)))
}

/// ` key=N`, or nothing for 0.
pub fn if_some(key: &str, value: impl Into<u64>) -> String {
    match value.into() {
        0 => String::new(),
        value => format!(" {}={}", key, value),
    }
}

fn if_bytes(key: &str, bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return String::new();
    }
    format!(" {}={}", key, quoted(bytes))
}

fn set(key: &'static str, is_set: bool) -> &'static str {
    match (is_set, key) {
        (false, _) => "",
        (true, "deadline_ms") => " deadline_ms=set",
        (true, "dead_ms") => " dead_ms=set",
        (true, "first_dead_ms") => " first_dead_ms=set",
        (true, "expires_at_ms") => " expires_at_ms=set",
        (true, _) => " retry_until_ms=set",
    }
}

pub fn word(outcome: Outcome) -> String {
    outcome.name().to_ascii_lowercase()
}

pub fn error_word(code: ErrorCode) -> String {
    match code {
        // The result of the call has no place for it, but the word is that of the outcome.
        ErrorCode::Outcome(outcome) => word(outcome),
        code => format!("error WQ_E_{}", code.name()),
    }
}

pub fn result_word(result: Result<Outcome, ErrorCode>) -> String {
    result.map_or_else(error_word, word)
}

/// Causes as a list of words, without the one that depends on who waits.
pub fn causes_word(causes: Causes) -> String {
    let known = |cause: &wq::Cause| !matches!(cause, wq::Cause::NoConsumer | wq::Cause::Other(_));
    let words: Vec<&str> = causes.iter().filter(known).map(wq::Cause::name).collect();
    if words.is_empty() {
        return "none".to_string();
    }
    words.join(",")
}
