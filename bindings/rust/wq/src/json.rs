//! JSON payloads and results, with serde.

use serde::de::DeserializeOwned;
use serde::Serialize;

use crate::code::{ErrorCode, Outcome};
use crate::error::{Error, Result};
use crate::job::{Job, JobInfo};
use crate::spec::JobSpec;

impl<'a> JobSpec<'a> {
    /// A job whose payload is this value as JSON, with the header `content-type: application/json`.
    ///
    /// ```
    /// # fn main() -> wq::Result<()> {
    /// # let dir = wq::doc_dir("json");
    /// # let store = wq::Store::open(&dir)?;
    /// # let queue = store.queue("mail")?;
    /// assert!(queue.enqueue(wq::JobSpec::json(&("resize", 7))?)?.is_new());
    /// let lease = queue.lease(&wq::LeaseOptions::new())?;
    /// let (what, id): (String, u32) = lease[0].json()?;
    /// assert_eq!((what.as_str(), id), ("resize", 7));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorCode::Invalid`] if the value has no JSON, such as a map with keys that are no text.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<JobSpec<'a>> {
        let payload = serde_json::to_vec(value).map_err(|error| invalid(&error))?;
        Ok(JobSpec::new(payload).header("content-type", "application/json"))
    }
}

impl JobInfo {
    /// The payload, from JSON.
    ///
    /// # Errors
    /// [`ErrorCode::Invalid`] if it is no JSON of this type. The job is as it was.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.payload).map_err(|error| invalid(&error))
    }
}

impl Job {
    /// Settle as done, with this value as JSON for the history of the queue.
    ///
    /// # Errors
    /// As [`Job::ack_with`], and [`ErrorCode::Invalid`] if the value has no JSON.
    pub fn ack_json<T: Serialize + ?Sized>(&self, result: &T) -> Result<Outcome> {
        let result = serde_json::to_vec(result).map_err(|error| invalid(&error))?;
        self.ack_with(result)
    }
}

fn invalid(error: &serde_json::Error) -> Error {
    Error::new(ErrorCode::Invalid, format!("JSON: {}", error))
}
