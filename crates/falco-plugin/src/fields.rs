//! The fields that rules can use, with their types and help texts. They say what the event means that Falco is at.

use std::ffi::CString;

use anyhow::Error;
use diagnosis::Call;
use falco_plugin::extract::{ExtractFieldInfo, ExtractPlugin, ExtractRequest, field};

use crate::clock::Asked;
use crate::events::Known;
use crate::page::Seen;
use crate::{Present, Scapscope};

impl Scapscope {
    /// What the event means; nothing, if it is not the one that was taken in last.
    fn at(&self, request: &ExtractRequest<'_, '_, '_, '_, Self>) -> Present {
        let same = request.event.event_number() as u64 == self.present.event;
        if same { self.present } else { Present::default() }
    }

    fn page(&self, request: &ExtractRequest<'_, '_, '_, '_, Self>) -> Option<Seen> {
        self.at(request).page
    }

    fn asked(&self, request: &ExtractRequest<'_, '_, '_, '_, Self>) -> Option<Asked> {
        self.at(request).asked
    }

    fn call(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<Option<CString>, Error> {
        text(self.page(&request).and_then(|seen| seen.fault.vsyscall()).map(Call::name))
    }

    fn mode(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<Option<CString>, Error> {
        text(self.at(&request).mode.map(diagnosis::Mode::name))
    }

    fn address(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<Option<CString>, Error> {
        text(self.page(&request).map(|seen| format!("0x{:016x}", seen.fault.address)))
    }

    fn faults(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<Option<u64>, Error> {
        Ok(self.page(&request).map(|seen| seen.faults))
    }

    fn fault_rate(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<Option<u64>, Error> {
        Ok(self.page(&request).and_then(|seen| seen.rate))
    }

    fn storm(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<bool, Error> {
        Ok(self.page(&request).is_some_and(|seen| seen.storm))
    }

    fn crash(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<bool, Error> {
        Ok(self.page(&request).is_some_and(|seen| seen.crash))
    }

    fn misaligned(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<bool, Error> {
        Ok(self.page(&request).is_some_and(|seen| seen.misaligned))
    }

    fn time_calls(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<Option<u64>, Error> {
        Ok(self.asked(&request).map(|asked| asked.calls))
    }

    fn time_rate(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<Option<u64>, Error> {
        Ok(self.asked(&request).and_then(|asked| asked.rate))
    }

    fn time_share(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<Option<u64>, Error> {
        Ok(self.asked(&request).map(|asked| asked.share))
    }

    fn time_storm(&mut self, request: ExtractRequest<'_, '_, '_, '_, Self>) -> Result<bool, Error> {
        Ok(self.asked(&request).is_some_and(|asked| asked.storm))
    }
}

fn text(value: Option<impl Into<Vec<u8>>>) -> Result<Option<CString>, Error> {
    Ok(value.map(CString::new).transpose()?)
}

impl ExtractPlugin for Scapscope {
    type Event<'a> = Known<'a>;
    type ExtractContext = ();

    const EXTRACT_FIELDS: &'static [ExtractFieldInfo<Self>] = &[
        field("vsyscall.call", &Self::call).with_display("Vsyscall").with_description(
            "The function of the vsyscall page that was called: gettimeofday, time or getcpu. At page faults in the \
             page, at the SIGSEGV that one brings, and at the end of a thread that dies of it.",
        ),
        field("vsyscall.mode", &Self::mode).with_display("Vsyscall mode").with_description(
            "How the kernel treats the vsyscall page, as far as faults and what followed have shown by now: none, \
             xonly, emulate or unknown.",
        ),
        field("vsyscall.fault.addr", &Self::address)
            .with_display("Vsyscall fault address")
            .with_description("The address in the vsyscall page that was touched, such as 0xffffffffff600400."),
        field("vsyscall.fault.count", &Self::faults).with_display("Vsyscall faults").with_description(
            "How often the thread has faulted in the vsyscall page since it began to run its program.",
        ),
        field("vsyscall.fault.rate", &Self::fault_rate).with_display("Vsyscall calls a second").with_description(
            "Calls of the thread into the vsyscall page, a second, measured since the present window began; of a \
             single call there is none.",
        ),
        field("vsyscall.storm", &Self::storm).with_display("Vsyscall storm").with_description(
            "True at the call with which a thread has made emulated_calls of them within window_ms: once for each \
             storm, which is over when a window has fewer than half as many.",
        ),
        field("vsyscall.crash", &Self::crash).with_display("Killed by vsyscall call").with_description(
            "True at the end of a thread that dies of a call into a vsyscall page that the kernel does not have \
             (vsyscall=none): fault, SIGSEGV and death of the same thread.",
        ),
        field("vsyscall.misaligned", &Self::misaligned)
            .with_display("Vsyscall jump off entry")
            .with_description("True at the first jump of a thread into the vsyscall page off its three entry points."),
        field("timecalls.count", &Self::time_calls).with_display("Time calls").with_description(
            "How often the thread has made a system call of time_syscalls since it began to run its program.",
        ),
        field("timecalls.rate", &Self::time_rate).with_display("Time calls a second").with_description(
            "System calls of the thread for the time, a second, measured since the present window began; of a single \
             call there is none.",
        ),
        field("timecalls.share", &Self::time_share).with_display("Time calls among events").with_description(
            "Percent of all events that Falco has taken in since the present window began, of every thread of the \
             host, that are this thread's system calls for the time.",
        ),
        field("timecalls.storm", &Self::time_storm).with_display("Time call storm").with_description(
            "True at the system call with which a thread has made time_calls of them within window_ms: once for each \
             storm, which is over when a window has fewer than half as many.",
        ),
    ];
}
