//! Sequences of events that no capture at hand holds: what happens, and what must be found.

mod story;

use diagnosis::{Confidence, Finding, Mode, PAGE};
use story::*;

#[test]
fn other_threads_between_fault_and_signal_do_not_hide_the_cause() {
    let mut story = Story::begin().exec(10, "old").exec(11, "busy").fault(10, TIME, ABSENT_FETCH);
    for _ in 0..200 {
        story = story.fault(11, 0x7000_0000, ABSENT_READ).call(11);
    }
    let findings = story.signal(10, 11, 0).exit(10, 11).findings();
    assert_eq!(ids(&findings), ["vsyscall-none-crash"]);
    assert_eq!(fact(&findings[0], "events_between"), 400);
}

#[test]
fn a_fault_of_one_thread_and_a_signal_to_another_are_not_joined() {
    let story = Story::begin().exec(10, "jvm").thread(12, 10).fault(10, TIME, PRESENT_FETCH);
    let findings = story.signal(12, 11, 0).exit(12, 11).exit(10, 11).findings();
    assert_eq!(ids(&findings), ["crash-signal"]);
}

#[test]
fn a_crash_in_a_thread_is_one_death_of_its_process() {
    let story =
        Story::begin().exec(10, "server").thread(12, 10).thread(13, 10).fault(12, TIME, ABSENT_FETCH).signal(12, 11, 0);
    // The kernel ends the other threads, in any order.
    let findings = story.signal(13, 9, 0).signal(10, 9, 0).exit(13, 11).exit(12, 11).exit(10, 11).findings();
    assert_eq!(ids(&findings), ["vsyscall-none-crash"]);
    let process = findings[0].process.as_ref().expect("a process");
    assert_eq!((process.pid, process.tid, process.comm.as_deref()), (10, 12, Some("server")));
    assert_eq!(fact(&findings[0], "count"), 1);
}

#[test]
fn a_wrapper_that_passes_on_139_did_not_crash() {
    let story =
        Story::begin().exec(10, "wrapper").child(20, 10, "wrapper").exec(20, "old").crash(20, TIME, ABSENT_FETCH);
    let findings = story.exit(10, 35584).findings();
    assert_eq!(ids(&findings), ["vsyscall-none-crash"]);
    assert_eq!(findings[0].process.as_ref().map(|process| process.pid), Some(20));
}

#[test]
fn a_forked_child_without_exec_is_named_like_its_parent() {
    let findings = Story::begin().exec(10, "forker").child(20, 10, "forker").crash(20, 8, ABSENT_READ).findings();
    assert_eq!(ids(&findings), ["crash-null-deref"]);
    let process = findings[0].process.as_ref().expect("a process");
    assert_eq!(process.parent.as_ref().map(|parent| (parent.pid, parent.comm.as_deref())), Some((10, Some("forker"))));
}

#[test]
fn a_signal_sent_by_kill_is_no_fault() {
    let story = Story::begin().exec(10, "victim").exec(11, "killer").fault(10, TIME, PRESENT_FETCH);
    let findings = story.signal(10, 11, 11).exit(10, 11).findings();
    assert_eq!(ids(&findings), ["crash-signal"]);
    assert_eq!(fact(&findings[0], "cause_hint"), "sent-by-process");
    assert_eq!(fact(&findings[0], "sent_by")["comm"], "killer");
}

#[test]
fn sigkill_names_its_sender_or_the_kernel() {
    let killed =
        Story::begin().exec(10, "victim").exec(11, "runtime").tgkill(11, 10, 10, 9).signal(10, 9, 0).exit(10, 9);
    let by_kernel = Story::begin().exec(10, "victim").fault(10, 0x7000_0000, ABSENT_READ).signal(10, 9, 0).exit(10, 9);
    let (killed, by_kernel) = (killed.findings(), by_kernel.findings());
    assert_eq!(fact(&killed[0], "sent_by")["comm"], "runtime");
    assert_eq!(
        (ids(&by_kernel), fact(&by_kernel[0], "cause_hint").as_str()),
        (vec!["crash-signal"], Some("killed-by-kernel"))
    );
}

#[test]
fn a_handler_that_raises_the_signal_again_does_not_hide_the_cause() {
    let story = Story::begin().exec(10, "service").fault(10, TIME, ABSENT_FETCH).signal(10, 11, 0).call(10);
    let findings = story.tgkill(10, 10, 10, 11).signal(10, 11, 10).exit(10, 11).findings();
    assert_eq!(ids(&findings), ["vsyscall-none-crash"]);
    assert_eq!((fact(&findings[0], "handler_ran"), findings[0].confidence), (&true.into(), Confidence::Likely));
}

#[test]
fn a_handler_that_aborts_does_not_hide_the_cause_either() {
    let story = Story::begin().exec(10, "jvm").fault(10, TIME, ABSENT_FETCH).signal(10, 11, 0).call(10);
    let findings = story.tgkill(10, 10, 10, 6).signal(10, 6, 10).exit(10, 6).findings();
    assert_eq!(ids(&findings), ["vsyscall-none-crash"]);
    assert_eq!(fact(&findings[0], "exit_status"), 134);
}

#[test]
fn an_abort_long_after_a_caught_vsyscall_is_another_matter() {
    let story = Story::begin().exec(10, "jvm").fault(10, TIME, ABSENT_FETCH).signal(10, 11, 0).call(10).wait(60);
    let findings = story.tgkill(10, 10, 10, 6).signal(10, 6, 10).exit(10, 6).findings();
    assert_eq!(ids(&findings), ["crash-signal", "vsyscall-sigsegv-handled"]);
}

#[test]
fn a_program_that_catches_and_goes_on_is_alive() {
    let findings = Story::begin().exec(10, "lucky").fault(10, TIME, ABSENT_FETCH).signal(10, 11, 0).call(10).findings();
    assert_eq!(ids(&findings), ["vsyscall-sigsegv-handled"]);
    assert_eq!(fact(&findings[0], "outcome"), "alive");
}

#[test]
fn a_death_in_the_handler_of_another_fault_is_not_that_of_the_page() {
    let caught = Story::begin().exec(10, "jvm").thread(12, 10).fault(10, TIME, ABSENT_FETCH).signal(10, 11, 0).call(10);
    let story = caught.fault(12, 0, ABSENT_READ).signal(12, 11, 0).call(12);
    let findings = story.tgkill(12, 10, 12, 11).signal(12, 11, 10).exit(12, 11).exit(10, 11).findings();
    assert_eq!(ids(&findings), ["crash-null-deref", "vsyscall-sigsegv-handled"]);
}

#[test]
fn an_end_without_a_status_right_after_a_signal_is_a_likely_death() {
    let unknown: [&[&[u8]]; 3] = [&[], &[&[0xff; 8]], &[&[0xff; 8], &[0; 8], &[0], &[0]]];
    for unknown in unknown {
        for event_type in [PROCEXIT, PROCEXIT_OLD] {
            let story = Story::begin().exec(10, "old").fault(10, TIME, ABSENT_FETCH).signal(10, 11, 0);
            let findings = story.event(10, event_type, unknown).findings();
            assert_eq!((ids(&findings), findings[0].confidence), (vec!["vsyscall-none-crash"], Confidence::Likely));
            assert_eq!(fact(&findings[0], "exit_status"), &serde_json::Value::Null);
        }
    }
}

#[test]
fn an_end_without_a_status_goes_by_the_signal_that_it_names() {
    let story = Story::begin().exec(10, "old").fault(10, TIME, ABSENT_FETCH).signal(10, 11, 0);
    let findings = story.event(10, PROCEXIT, &[&[0xff; 8], &[0; 8], &[11], &[1]]).findings();
    assert_eq!((ids(&findings), findings[0].confidence), (vec!["vsyscall-none-crash"], Confidence::Certain));
    assert_eq!((fact(&findings[0], "exit_status"), fact(&findings[0], "core_dumped")), (&139.into(), &true.into()));
}

#[test]
fn an_end_without_a_status_after_the_program_went_on_is_no_death() {
    let caught = Story::begin().exec(10, "lucky").fault(10, TIME, ABSENT_FETCH).signal(10, 11, 0).call(10);
    assert_eq!(ids(&caught.event(10, PROCEXIT, &[]).findings()), ["vsyscall-sigsegv-handled"]);
    // The kernel delivers SIGKILL to the other threads of a process that exits.
    let exiting = Story::begin().exec(10, "go").thread(12, 10).fault(10, 0x7000_0000, ABSENT_READ).signal(12, 9, 0);
    assert_eq!(ids(&exiting.event(12, PROCEXIT, &[]).event(10, PROCEXIT, &[]).findings()), [""; 0]);
}

#[test]
fn an_end_without_a_status_right_behind_a_call_may_be_the_end_of_it() {
    let findings =
        Story::begin().exec(10, "x").fault(10, TIME, ABSENT_FETCH).event(10, PROCEXIT_OLD, &[]).exec(11, "y").report();
    assert_eq!(ids(&findings.findings), ["vsyscall-none-crash"]);
    assert_eq!(findings.findings[0].confidence, Confidence::Possible);
    assert_eq!(findings.kernel.vsyscall_mode, Mode::Unknown);
}

#[test]
fn the_surest_of_many_deaths_is_shown_and_the_others_are_counted() {
    let unsure = |story: Story, tid| story.exec(tid, "old").fault(tid, TIME, ABSENT_FETCH).exit(tid, 11);
    let sure = |story: Story, tid| story.exec(tid, "old").crash(tid, TIME, ABSENT_FETCH);
    let findings = sure(unsure(unsure(Story::begin(), 10), 11), 12).findings();
    let [in_a_loop, crash] = &findings[..] else { panic!("{:?}", ids(&findings)) };
    assert_eq!((in_a_loop.id, in_a_loop.confidence), ("crash-loop", Confidence::Likely));
    assert_eq!((crash.id, crash.confidence), ("vsyscall-none-crash", Confidence::Certain));
    assert_eq!((fact(crash, "count"), fact(crash, "less_sure")), (&3.into(), &2.into()));
    let sure = sure(sure(sure(unsure(Story::begin(), 10), 11), 12), 13).findings();
    assert_eq!((sure[0].id, sure[0].confidence), ("crash-loop", Confidence::Certain));
}

#[test]
fn a_call_refused_by_an_emulating_kernel_is_not_vsyscall_none() {
    let story = Story::begin().exec(10, "good").fault(10, PAGE, ABSENT_FETCH).call(10).exec(11, "bad");
    let report = story.crash(11, PAGE, ABSENT_FETCH).report();
    assert_eq!(report.kernel.vsyscall_mode, Mode::Xonly);
    assert_eq!(ids(&report.findings), ["crash-bad-access"]);
}

#[test]
fn the_page_below_and_the_page_above_are_wild_jumps() {
    for address in [PAGE - 0xc00, PAGE + 0x1400] {
        assert_eq!(ids(&Story::begin().exec(10, "x").crash(10, address, ABSENT_FETCH).findings()), ["crash-wild-jump"]);
    }
}

#[test]
fn a_system_call_between_fault_and_signal_parts_them() {
    let story =
        Story::begin().exec(10, "x").fault(10, 0x7000_0000, ABSENT_READ).call(10).signal(10, 11, 0).exit(10, 11);
    let findings = story.findings();
    assert_eq!(
        (ids(&findings), fact(&findings[0], "cause_hint").as_str()),
        (vec!["crash-signal"], Some("no-fault-seen"))
    );
}

#[test]
fn kernel_faults_after_the_signal_are_noise() {
    const SUPERVISOR_READ: u32 = 42;
    let story = Story::begin().exec(10, "x").fault(10, TIME, ABSENT_FETCH).signal(10, 11, 0);
    let findings = story.fault(10, 0, SUPERVISOR_READ).fault(10, TIME - 0x2a, SUPERVISOR_READ).exit(10, 11).findings();
    assert_eq!((ids(&findings), findings[0].confidence), (vec!["vsyscall-none-crash"], Confidence::Certain));
}

#[test]
fn a_lost_signal_event_makes_the_verdict_likely() {
    let findings = Story::begin()
        .exec(10, "x")
        .fault(10, TIME, ABSENT_FETCH)
        .event(10, DROP, &[&[1, 0, 0, 0]])
        .exit(10, 11)
        .findings();
    assert_eq!(ids(&findings), ["vsyscall-none-crash", "events-dropped"]);
    assert_eq!(findings[0].confidence, Confidence::Likely);
}

#[test]
fn the_image_binds_to_the_crash_that_came_before_it() {
    let json = |name: &str| {
        format!(
            "{{\"container\":{{\"id\":\"7272f37ebc5c\",\"image\":\"redis:2.8.22\",\"name\":\"{name}\",\"type\":0}}}}\0"
        )
    };
    let crash = || Story::begin().exec_in_container(10, "entrypoint.sh", ID).crash(10, TIME, ABSENT_FETCH);
    let old = crash().event(-1, CONTAINER_JSON, &[json("one").as_bytes()]).findings();
    let current = crash().async_event(b"container\0", json("two").as_bytes());
    let never = crash().findings();
    let container = |findings: &[Finding]| findings[0].container.clone().expect("a container");
    assert_eq!(
        (container(&old).image.as_deref(), container(&old).name.as_deref()),
        (Some("redis:2.8.22"), Some("one"))
    );
    assert_eq!((container(&never).image, container(&never).id), (None, "7272f37ebc5c".into()));
    assert_eq!(container(&current.findings()).name.as_deref(), Some("two"));
}

#[test]
fn a_restart_loop_over_several_containers_of_an_image_is_one_loop() {
    let mut story = Story::begin();
    for restart in 0..4i64 {
        let id = format!("{restart:012x}{}", &ID[12..]);
        let json = format!("{{\"container\":{{\"id\":\"{restart:012x}\",\"image\":\"redis:2.8.22\"}}}}\0");
        story = story.exec_in_container(10 + restart, "entrypoint.sh", &id).crash(10 + restart, TIME, ABSENT_FETCH);
        story = story.event(-1, CONTAINER_JSON, &[json.as_bytes()]).wait(10);
    }
    let findings = story.findings();
    let loops: Vec<&Finding> = findings.iter().filter(|finding| finding.id == "crash-loop").collect();
    assert_eq!((loops.len(), fact(loops[0], "count"), fact(loops[0], "image")), (1, &4.into(), &"redis:2.8.22".into()));
    assert_eq!(fact(loops[0], "gaps_ns").as_array().map(Vec::len), Some(3));
}

#[test]
fn a_pid_that_is_used_again_is_another_process() {
    let story = Story::begin().exec(10, "first").fault(10, 0x5000, ABSENT_READ).exit(10, 0);
    let findings = story.child(10, 1, "second").crash(10, 0, ABSENT_READ).findings();
    assert_eq!(findings[0].process.as_ref().and_then(|process| process.comm.clone()).as_deref(), Some("second"));
    assert_eq!(fact(&findings[0], "after_exec_ns"), &serde_json::Value::Null, "its own exec, not the one before");
}

#[test]
fn mapped_memory_is_told_from_memory_not_seen_mapped() {
    let map = |story: Story| {
        let (address, length) = (0x7f00_0000_0000u64.to_le_bytes(), 0x1000u64.to_le_bytes());
        story.event(10, MMAP_EXIT, &[&address, &[0; 4], &[0; 4], &[0; 4], &[0; 8], &length])
    };
    let inside = map(Story::begin().exec(10, "x")).crash(10, 0x7f00_0000_0800, 21).findings();
    let outside = map(Story::begin().exec(10, "x")).crash(10, 0x7f00_0000_1000, ABSENT_READ).findings();
    assert_eq!(fact(&inside[0], "address_mapped"), "yes");
    assert_eq!(fact(&outside[0], "address_mapped"), "not-seen");
    assert_eq!(fact(&outside[0], "nearest_mapping"), "0x00007f0000000000-0x00007f0000001000");
}

#[test]
fn a_thread_of_which_nothing_else_is_known_is_told_by_its_id() {
    let findings = Story::begin().crash(77, TIME, ABSENT_FETCH).findings();
    let process = findings[0].process.as_ref().expect("a process");
    assert_eq!((process.pid, &process.comm), (77, &None));
}

#[test]
fn a_capture_cut_anywhere_never_says_more_than_it_holds() {
    let story = Story::begin()
        .exec(10, "old")
        .fault(10, 0x40_1000, ABSENT_FETCH)
        .call(10)
        .crash(10, TIME, ABSENT_FETCH)
        .exec(11, "next");
    let whole = &story.bytes;
    for cut in Story::begin().bytes.len()..whole.len() {
        let report = report(&whole[..cut]);
        for finding in &report.findings {
            match finding.id {
                "vsyscall-none-crash" => {
                    let complete = fact(finding, "exit_status") == 139;
                    assert_eq!(finding.confidence == Confidence::Certain, complete, "cut at {cut}");
                }
                "capture-truncated" | "page-faults-not-captured" => {}
                other => panic!("{other} in a capture cut at {cut}"),
            }
        }
    }
}

#[test]
fn many_kinds_of_deaths_are_bounded_and_counted() {
    let mut story = Story::begin();
    for tid in 10..1210 {
        story = story.exec(tid, &format!("p{tid}")).crash(tid, 0, ABSENT_READ);
    }
    let report = story.report();
    assert_eq!((report.findings.len(), report.omitted.happenings_omitted), (512, 688));
}

#[test]
fn code_run_for_the_first_time_before_a_signal_without_fault_is_no_wild_jump() {
    // As after a general protection fault, or where the fault's event was dropped.
    let story = Story::begin().exec(10, "x").fault(10, 0x40_1000, ABSENT_FETCH).fault(10, 0x49_0c10, ABSENT_FETCH);
    let findings = story.signal(10, 11, 0).exit(10, 11).findings();
    assert_eq!(ids(&findings), ["crash-signal"]);
    assert_eq!(fact(&findings[0], "fault_address"), &serde_json::Value::Null, "not shown as the cause");
    let far = Story::begin().exec(10, "x").fault(10, 0x40_1000, ABSENT_FETCH).crash(10, 0x1234_5678_9000, ABSENT_FETCH);
    let far = far.findings();
    assert_eq!((ids(&far), far[0].confidence), (vec!["crash-wild-jump"], Confidence::Likely));
}

#[test]
fn a_kill_on_record_explains_a_signal_that_shows_no_sender() {
    let story = Story::begin().exec(10, "victim").exec(11, "killer").fault(10, 0x40_1000, ABSENT_FETCH);
    let findings = story.tgkill(11, 10, 10, 11).signal(10, 11, 0).exit(10, 11).findings();
    assert_eq!(ids(&findings), ["crash-signal"]);
    assert_eq!(fact(&findings[0], "sent_by")["comm"], "killer");
}

#[test]
fn a_capture_that_just_ends_behind_a_call_says_that_it_may_have_been_the_end() {
    let findings = Story::begin().exec(10, "x").fault(10, TIME, ABSENT_FETCH).findings();
    assert_eq!((ids(&findings), findings[0].confidence), (vec!["vsyscall-none-crash"], Confidence::Possible));
}

#[test]
fn an_exec_after_the_signal_was_caught_is_not_being_alive() {
    let story =
        Story::begin().exec(10, "tries").fault(10, TIME, ABSENT_FETCH).signal(10, 11, 0).call(10).exec(10, "next");
    let findings = story.findings();
    assert_eq!(
        (ids(&findings), fact(&findings[0], "outcome")),
        (vec!["vsyscall-sigsegv-handled"], &serde_json::Value::Null)
    );
}

#[test]
fn captures_behind_each_other_are_judged_by_their_own_kernels() {
    let none = Story::begin().exec(10, "old").crash(10, TIME, ABSENT_FETCH);
    let xonly = Story::begin().exec(10, "other").fault(10, TIME, ABSENT_FETCH).call(10);
    for bytes in [[none.bytes.clone(), xonly.bytes.clone()].concat(), [xonly.bytes, none.bytes].concat()] {
        let report = report(&bytes);
        assert_eq!(ids(&report.findings), ["vsyscall-none-crash"]);
        assert_eq!(report.kernel.vsyscall_mode, Mode::Unknown, "two kernels");
        assert_eq!(report.findings[0].process.as_ref().and_then(|process| process.comm.as_deref()), Some("old"));
    }
}

/// As a log of strace has it: the signal brings its code and address, and no page fault is there.
#[test]
fn an_address_that_the_signal_brings_explains_the_death_without_page_faults() {
    let told = |address: u64, code: i64, sender: i64| {
        let (sender, tid) = (sender.to_le_bytes(), 10i64.to_le_bytes());
        let params: [&[u8]; 5] = [&sender, &tid, &[11], &code.to_le_bytes(), &address.to_le_bytes()];
        let report = Story::begin().exec(10, "old").event(10, SIGNALDELIVER, &params).exit(10, 11).report();
        let [death, unrecorded] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
        let explained = unrecorded.facts.get("segfaults") == Some(&0.into());
        (death.id, death.confidence, fact(death, "si_code").clone(), explained, report.kernel.vsyscall_mode)
    };
    let (maperr, accerr, kernel) = (1, 2, 0x80);
    let found = |id, confidence, code: &str| (id, confidence, code.into(), true, Mode::Unknown);
    assert_eq!(told(TIME, maperr, 0), found("vsyscall-none-crash", Confidence::Likely, "SEGV_MAPERR"));
    assert_eq!(told(TIME + 1, maperr, 0), found("crash-bad-access", Confidence::Certain, "SEGV_MAPERR"));
    assert_eq!(told(TIME, accerr, 0), found("crash-bad-access", Confidence::Certain, "SEGV_ACCERR"));
    assert_eq!(told(0x10, maperr, 0), found("crash-null-deref", Confidence::Certain, "SEGV_MAPERR"));
    // A general protection fault has no address, and a signal that was sent has none of its own.
    let untold = ("crash-signal", Confidence::Certain, serde_json::Value::Null, false, Mode::Unknown);
    assert_eq!(told(0, kernel, 0), untold);
    assert_eq!(told(0, maperr, 77), untold);
}
