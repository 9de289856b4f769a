//! The thread on which a layer runs its portions: it sleeps between them, as a program does that waits for work.

use record::{Template, text};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::{Pass, Unavailable};

/// What a layer's thread does with a range.
pub type PassFunction = Box<dyn FnMut(Range<u64>) -> Result<Pass, Unavailable>>;

/// A thread that makes portions when it is asked to.
#[derive(Debug)]
pub struct LayerThread {
    ask: Option<Sender<Range<u64>>>,
    answers: Receiver<Result<Pass, Unavailable>>,
    thread: Option<JoinHandle<()>>,
}

impl LayerThread {
    /// Starts the thread. `prepare` sets it up, on that thread, and says what it does with each range.
    ///
    /// # Errors
    ///
    /// What `prepare` failed for; or no thread can be started.
    pub fn start(
        prepare: impl FnOnce() -> Result<PassFunction, Unavailable> + Send + 'static,
    ) -> Result<Self, Unavailable> {
        let (ask, ranges) = channel::<Range<u64>>();
        let (answer, answers) = channel();
        let (ready, prepared) = channel();
        let body = move || {
            let mut work = match prepare() {
                Ok(work) => work,
                Err(failure) => {
                    let _ = ready.send(Err(failure));
                    return;
                }
            };
            let _ = ready.send(Ok(()));
            for range in ranges {
                if answer.send(work(range)).is_err() {
                    return;
                }
            }
        };
        let thread =
            std::thread::Builder::new().name("linespeed/layer".to_owned()).spawn(body).map_err(|error| {
                Unavailable::new(text!("cannot start a thread: {error}", error))
                    .with_remedy(text!("raise the process limit: ulimit -u"))
            })?;
        let worker = Self { ask: Some(ask), answers, thread: Some(thread) };
        prepared.recv().unwrap_or_else(|_| Err(gone())).map(|()| worker)
    }

    /// Has the thread count the primes of a range, and sleeps until it has.
    ///
    /// # Errors
    ///
    /// What the layer says.
    pub fn pass(&self, range: Range<u64>) -> Result<Pass, Unavailable> {
        let asked = self.ask.as_ref().is_some_and(|ask| ask.send(range).is_ok());
        if !asked {
            return Err(gone());
        }
        self.answers.recv().unwrap_or_else(|_| Err(gone()))
    }
}

const THREAD_ENDED: Template =
    Template { code: "overhead-thread-ended", words: "the layer's thread ended early" };

fn gone() -> Unavailable {
    Unavailable::new(THREAD_ENDED)
}

impl Drop for LayerThread {
    fn drop(&mut self) {
        // The thread ends when nobody can ask any more.
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_layer_from_starting_is_reported() {
        let why = LayerThread::start(|| Err(Unavailable::new("no such CPU"))).unwrap_err();
        assert_eq!(why.reason, "no such CPU".into());
    }

    #[test]
    fn a_thread_that_ends_is_an_answer_and_no_hang() {
        let worker = LayerThread::start(|| Ok(Box::new(|_| panic!("expected by this test")))).unwrap();
        assert!(worker.pass(0..10).unwrap_err().reason.is(&THREAD_ENDED));
        assert!(worker.pass(0..10).unwrap_err().reason.is(&THREAD_ENDED));
    }
}
