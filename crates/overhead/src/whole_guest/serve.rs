//! The virtual machine's side of the communication: executes requests and returns the results.

use record::text;
use std::io::{BufRead, Read};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use super::protocol::{self, Answer, GuestCommand, LINE, PIECE, Place};
use crate::kernel_module::{KernelLayer, Module, Source, release};
use crate::{Layer, Ticks, Unavailable, User, UserMode};
use os::Stop;

/// The machine's first CPU, to which layers are pinned.
const CPU: u32 = 0;
/// The path at which the module is stored in the machine, whose file system is discarded afterwards.
const FILE: &str = "/tmp/linespeed.ko";
/// Maximum size of a module, bytes.
const MOST: usize = 64 << 20;

/// Executes the request in each line of `requests` and answers with a line, until there are no more requests.
pub fn serve(mut requests: impl BufRead, answer: &mut dyn FnMut(&str)) {
    let mut server = Server::new();
    loop {
        let mut line = String::new();
        match requests.by_ref().take(LINE).read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let done = match serde_json::from_str(&line) {
            Ok(asked) => server.execute(asked, &mut requests),
            Err(_) => {
                Err(text!("unknown request {request}", request = format!("{:?}", line.trim_end())).into())
            }
        };
        answer(&protocol::line(&Answer::from(done)));
    }
}

/// The state of the machine's side.
struct Server {
    ticks: Ticks,
    /// The bytes of the module received so far.
    bytes: Vec<u8>,
    module: Option<Rc<Module>>,
    /// The layers requested so far, each with the place where it runs.
    layers: Vec<(Place, Box<dyn Layer>)>,
}

impl Server {
    fn new() -> Self {
        Self { ticks: Ticks::calibrate(), bytes: Vec::new(), module: None, layers: Vec::new() }
    }

    fn execute(&mut self, asked: GuestCommand, more: &mut impl Read) -> Result<Answer, Unavailable> {
        match asked {
            GuestCommand::About => release().map(Answer::Release),
            GuestCommand::Piece(bytes) => self.receive_module(bytes, more),
            GuestCommand::Load => self.load_module(),
            GuestCommand::Pass(place, range) => self.count(place, range),
        }
    }

    fn receive_module(&mut self, bytes: usize, more: &mut impl Read) -> Result<Answer, Unavailable> {
        let mut piece = vec![0; bytes.min(PIECE)];
        more.read_exact(&mut piece)
            .map_err(|error| Unavailable::new(text!("the module arrived truncated: {error}")))?;
        if self.bytes.len() + piece.len() > MOST {
            return Err(
                text!("the module is larger than {most}", most = text::Value::Bytes(MOST as u64)).into()
            );
        }
        self.bytes.extend(piece);
        Ok(Answer::Done)
    }

    fn load_module(&mut self) -> Result<Answer, Unavailable> {
        let bytes = std::mem::take(&mut self.bytes);
        std::fs::write(FILE, bytes).map_err(|error| Unavailable::new(format!("{FILE}: {error}")))?;
        let module = Module::load(Source::File(Path::new(FILE)), &Arc::default(), &Stop::new())?;
        self.module = Some(Rc::new(module));
        Ok(Answer::Done)
    }

    fn count(&mut self, place: Place, range: Range<u64>) -> Result<Answer, Unavailable> {
        let at = match self.layers.iter().position(|(known, _)| *known == place) {
            Some(at) => at,
            None => {
                self.layers.push((place, self.layer(place)?));
                self.layers.len() - 1
            }
        };
        self.layers[at].1.pass(range).map(Answer::Pass)
    }

    fn layer(&self, place: Place) -> Result<Box<dyn Layer>, Unavailable> {
        if !place.kernel && !place.interrupts {
            return Err(text!("user mode cannot disable interrupts").into());
        }
        let bound = place.bound.then_some(CPU);
        if !place.kernel {
            let all = || UserMode::Unbound(os::pin::allowed().unwrap_or_default());
            return Ok(Box::new(User::start(bound.map_or_else(all, UserMode::Bound), self.ticks)?));
        }
        let Some(module) = &self.module else {
            return Err(text!("the linespeed module is not loaded in the guest").into());
        };
        Ok(Box::new(KernelLayer::new(module, self.ticks, bound, place.interrupts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(asked: &[u8]) -> Vec<Result<Answer, Unavailable>> {
        let mut answers = Vec::new();
        serve(asked, &mut |line| answers.push(protocol::answer(line)));
        answers
    }

    #[test]
    fn what_is_asked_over_the_port_is_counted_and_reported() {
        let user = |bound| Place { kernel: false, bound, interrupts: true };
        let lines: Vec<String> = [
            GuestCommand::Pass(user(true), 0..1000),
            GuestCommand::Pass(user(false), 10..20),
            GuestCommand::Pass(user(false), 0..10),
        ]
        .iter()
        .map(protocol::line)
        .collect();
        let answers = answers(lines.concat().as_bytes());
        assert_eq!(answers.len(), 3);
        let pass = |at: usize| match answers[at].clone() {
            Ok(Answer::Pass(pass)) => pass,
            other => panic!("{other:?}"),
        };
        // This process may not use the first CPU, but the linespeed inside the machine could.
        if os::pin::allowed().is_some_and(|cpus| cpus.contains(CPU)) {
            assert_eq!((pass(0).primes, pass(0).page_offset), (168, 0));
            assert_eq!(pass(0).crc, crate::crc32(kernels::primes::code()));
            assert!(pass(0).seconds > 0.0 && pass(0).clock > 0.0);
        }
        assert_eq!([pass(1).primes, pass(2).primes], [4, 4]);
    }

    #[test]
    fn what_cannot_be_done_is_an_answer_and_the_next_line_is_read() {
        let place = |kernel, interrupts| Place { kernel, bound: true, interrupts };
        let asked = |asked: GuestCommand| protocol::line(&asked);
        let (user, kernel) = (place(false, false), place(true, true));
        let lines = [
            "nonsense\n".to_owned(),
            asked(GuestCommand::Piece(3)) + "abc",
            asked(GuestCommand::About),
            asked(GuestCommand::Pass(user, 0..10)),
            asked(GuestCommand::Pass(kernel, 0..10)),
            asked(GuestCommand::Piece(9)) + "ab",
        ];
        let answers = answers(lines.concat().as_bytes());
        let failed = |at: usize| answers[at].as_ref().unwrap_err().reason.clone();
        assert_eq!(failed(0).value("reason"), Some(&"unknown request \"nonsense\"".into()));
        assert_eq!(answers[1].as_ref().unwrap(), &Answer::Done);
        assert!(matches!(&answers[2], Ok(Answer::Release(release)) if !release.is_empty()));
        assert_eq!(failed(3).value("reason"), Some(&"user mode cannot disable interrupts".into()));
        assert_eq!(
            failed(4).value("reason"),
            Some(&"the linespeed module is not loaded in the guest".into())
        );
        assert!(failed(5).to_string().contains("truncated"));
        assert_eq!(answers.len(), 6);
    }
}
