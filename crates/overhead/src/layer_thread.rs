//! The thread on which a layer runs its slices. Between slices, the thread sleeps like a program that waits for work.

use std::os::unix::thread::JoinHandleExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use os::Stop;
use record::text::Value;
use record::{Template, text};

use super::Unavailable;

/// Maximum time that a thread may take to stop working after it was asked to.
const GRACE: Duration = Duration::from_secs(1);
/// The interval between checks for a stop signal.
const LOOK: Duration = Duration::from_millis(50);

/// A piece of work that a thread does with its resources.
type Order<S> = Box<dyn FnOnce(&mut S) + Send>;

/// A thread that owns the resources of a layer and does work with these resources on request.
#[derive(Debug)]
pub(crate) struct LayerThread<S> {
    orders: Option<Sender<Order<S>>>,
    thread: Option<JoinHandle<()>>,
    /// The reason why the thread does no further work.
    over: Option<Unavailable>,
}

/// The conditions for waiting for an answer from a thread that may hang.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    /// A description of the awaited event.
    pub(crate) what: String,
    pub(crate) limit: Duration,
    /// A stop signal, which also ends the waiting.
    pub(crate) stop: &'static Stop,
    /// The signal that interrupts the thread's work.
    pub(crate) interrupt: libc::c_int,
}

impl<S: 'static> LayerThread<S> {
    /// Starts the thread, on which `prepare` creates the thread's resources. Without `patience`, the caller waits
    /// indefinitely.
    ///
    /// # Errors
    ///
    /// `prepare` failed, or no thread can be started.
    pub(crate) fn start(
        patience: Option<&Patience>,
        prepare: impl FnOnce() -> Result<S, Unavailable> + Send + 'static,
    ) -> Result<Self, Unavailable> {
        let (orders, received) = channel::<Order<S>>();
        let (ready, prepared) = channel();
        let body = move || {
            let (mut own, done) = match prepare() {
                Ok(own) => (Some(own), Ok(())),
                Err(failure) => (None, Err(failure)),
            };
            // The caller may have stopped waiting.
            if let (true, Some(own)) = (ready.send(done).is_ok(), &mut own) {
                received.into_iter().for_each(|order| order(own));
            }
        };
        let thread = Builder::new().name("linespeed/layer".to_owned()).spawn(body).map_err(|error| {
            text!("cannot start a thread: {error}").with_remedy(text!("raise the process limit: ulimit -u"))
        })?;
        let mut started = Self { orders: Some(orders), thread: Some(thread), over: None };
        started.wait(patience, &prepared)?;
        Ok(started)
    }

    /// Has the thread do a piece of work, and sleeps until the work is done. After a failure, the thread does no
    /// further work.
    ///
    /// # Errors
    ///
    /// The work failed, or the thread has ended or was abandoned.
    pub(crate) fn run<R: Send + 'static>(
        &mut self,
        patience: Option<&Patience>,
        work: impl FnOnce(&mut S) -> Result<R, Unavailable> + Send + 'static,
    ) -> Result<R, Unavailable> {
        if let Some(over) = &self.over {
            return Err(over.clone());
        }
        let (sender, answer) = channel();
        let order: Order<S> = Box::new(move |own| {
            let _ = sender.send(work(own));
        });
        // If the thread has ended, the requested work is dropped together with the channel for the answer.
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
        self.wait(patience, &answer)
    }

    fn wait<R>(
        &mut self,
        patience: Option<&Patience>,
        answer: &Receiver<Result<R, Unavailable>>,
    ) -> Result<R, Unavailable> {
        let ended = || Err(Unavailable::new(THREAD_ENDED));
        let result = match patience {
            None => answer.recv().unwrap_or_else(|_| ended()),
            Some(patience) => {
                let until = Instant::now() + patience.limit;
                loop {
                    let left = until.saturating_duration_since(Instant::now());
                    match answer.recv_timeout(left.min(LOOK)) {
                        Ok(answer) => break answer,
                        Err(RecvTimeoutError::Disconnected) => break ended(),
                        Err(RecvTimeoutError::Timeout) if left > LOOK && patience.stop.signal().is_none() => {
                        }
                        Err(RecvTimeoutError::Timeout) => break Err(self.give_up(patience, answer)),
                    }
                }
            }
        };
        result.inspect_err(|failure| self.over = Some(failure.clone()))
    }

    /// Interrupts a thread that has not answered in time, or whose answer is no longer needed.
    fn give_up<R>(&mut self, patience: &Patience, answer: &Receiver<R>) -> Unavailable {
        if let Some(thread) = &self.thread {
            // SAFETY: the thread has not been joined, so its handle is valid. The signal is blocked except during the
            // thread's work, or ignored if blocking fails.
            unsafe { libc::pthread_kill(thread.as_pthread_t(), patience.interrupt) };
        }
        let end = if matches!(answer.recv_timeout(GRACE), Err(RecvTimeoutError::Timeout)) {
            // The thread hangs in the kernel; once detached, it ends together with the process.
            self.thread = None;
            text!("the guest cannot be stopped")
        } else {
            text!("kvm-guest-ended", "the guest was stopped")
        };
        let device = &patience.what;
        match patience.stop.signal() {
            Some(signal) => Unavailable::new(text!(
                "{device} was interrupted by signal {signal}; {end}",
                signal = signal.to_string()
            )),
            None => text!(
                "{device} did not answer within {limit}; {end}",
                limit = Value::Figure(patience.limit.as_secs_f64(), "s")
            )
            .with_remedy(text!("check the kernel log: sudo dmesg | grep -i kvm")),
        }
    }
}

const THREAD_ENDED: Template = Template::new("overhead-thread-ended", "the layer's thread ended early");

impl<S> Drop for LayerThread<S> {
    fn drop(&mut self) {
        // The thread ends once no further requests can arrive.
        self.orders = None;
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
        let why = LayerThread::<()>::start(None, || Err(Unavailable::new("no such CPU"))).unwrap_err();
        assert_eq!(why.reason, "no such CPU".into());
    }

    #[test]
    fn a_thread_that_ends_is_an_answer_and_no_hang() {
        let mut thread = LayerThread::start(None, || Ok(())).unwrap();
        let mut run = || thread.run::<()>(None, |()| panic!("expected by this test")).unwrap_err();
        assert!(run().reason.is(&THREAD_ENDED));
        assert!(run().reason.is(&THREAD_ENDED));
    }
}
