"""first_seen.py - answers that were wrong with confidence once, and the tests that fail when one comes back."""
import os
import re

UNIT, FLOW = "tests/unit/", "tests/flow/"
WRONG = [  # what was answered, tests: file, names
    ("A span's time breakdown followed the waits of idle pool threads", [
        (UNIT + "link/ledger_test.c", "takes_no_vote_among_threads", "leaves_the_waits_of_idle_threads_out", "follows_a_span_that_is_handed_over",
         "calls_what_spans_share_an_estimate"),
        (UNIT + "join/span_link_test.c", "leaves_waits_of_idle_threads_apart")]),
    ("Java's children had nothing, because spans and samples number threads differently", [
        (UNIT + "link/thread_table_test.c", "compares_javas_numbers_with_javas", "finds_virtual_threads_by_the_runtimes_number"),
        (UNIT + "join/span_link_test.c", "finds_javas_threads_by_javas_numbers", "ignores_threads_that_are_numbered_differently")]),
    ("Times of samples were cut to milliseconds: none of 20 children of 1 ms had its own", [
        (FLOW + "first_seen_flow.py", "test_milliseconds_requests_and_late_samples_in_memory", "test_the_same_of_blocks"),
        (UNIT + "block/profile_rows_test.c", "take_at_most_six_bytes_of_a_wait_and_less_of_a_sample"),
        (UNIT + "link/attribution_test.c", "splits_a_sample_whose_time_was_cut_among_the_spans_of_its_millisecond"),
        (UNIT + "store/old_profiles_test.c", "of_a_later_format_are_left_alone")]),
    ("What spans share was stated as fact: findings, significance, intervals, hottest function", [
        (FLOW + "known_flow.py", "test_a_shared_estimate_has_no_interval_and_no_hot_path", "test_findings_of_a_span_are_what_is_known_of_it",
         "test_estimates_are_not_compared", "test_every_form_marks_an_estimate")]),
    ("Ten requests under one profile had 1,000, 500, 333 … ms of its 1,000", [
        (UNIT + "join/span_link_test.c", "shares_a_profile_among_all_requests_it_covers", "gives_out_every_profile_once")]),
    ("Replicas were mixed", [
        (UNIT + "join/span_link_test.c", "never_mixes_replicas"), (FLOW + "known_flow.py", "test_replicas_are_told_apart_by_any_name_of_theirs"),
        ("tests/calibration/calibrate.py", "test_profiles_that_name_no_process_give_no_span_what_is_of_another")]),
    ("A profile uploaded under a trace's id was not its span's", [
        (UNIT + "join/span_link_test.c", "takes_what_was_sent_under_the_traces_id"), (FLOW + "link_flow.py", "test_a_profile_that_a_span_names_is_its_own")]),
    ("Profiles of an SDK lay elsewhere in time", [(FLOW + "profiles_flow.py", "test_each_sdks_profile_lies_where_it_was")]),
    ("With profiles of waits, time in the run queue was unknown", [
        (UNIT + "join/span_link_test.c", "fills_with_wall_samples_what_waits_leave_unknown"),
        (FLOW + "first_seen_flow.py", "test_wall_samples_fill_what_block_profiles_leave_unknown")]),
    ("Adjacent ranges summed to 297 %", [(FLOW + "querier_flow.py", "test_adjacent_ranges_add_up", "test_a_profile_belongs_where_it_starts")]),
    ("A child's profile was there at one call and 404 at another", [(FLOW + "known_flow.py", "test_every_form_marks_an_estimate")]),
    ("Coverage said that nothing is missing", [
        (FLOW + "coverage_flow.py", "test_the_first_span_s_id_alone_is_not_every_span_s", "test_a_part_of_the_samples_that_names_spans_is_a_part", "test_few_of_the_expected_samples")]),
    ("Every span counted as a request", [
        (FLOW + "first_seen_flow.py", "test_a_span_whose_parent_is_remote_is_a_request", "test_tempos_metrics_count_all_spans", "test_what_no_request_enters_has_no_quantiles"),
        (UNIT + "exec/services_test.c", "quantile_of_one_lies_within_a_tenth")]),
    ("A comparison explained 95 % of the CPU time and 3 % of the duration", [
        (UNIT + "join/compare_time_test.c", "divides_the_difference_in_duration_into_parts_that_add_up_to_it"),
        ("tests/prop/compare_time_prop.c", "has_parts_that_add_up_and_intervals_that_hold")]),
    ("\"Nothing differs\" without profiles; lists that ended in silence", [
        (FLOW + "link_flow.py", "test_sides_with_nothing_are_named"), (FLOW + "findings_flow.py", "test_nothing_to_look_at_is_said"),
        (FLOW + "lists_flow.py", "test_every_list_of_the_api_is_whole_or_says_what_is_left", "test_every_list_of_a_command_is_whole_or_says_what_is_left"),
        ("web/tests/lists.test.ts", "every list that ends says so")]),
    ("Fields and parameters of a question were ignored", [
        (FLOW + "parameters_flow.py", "test_every_field_of_tempos_messages_changes_the_answer"), (FLOW + "querier_flow.py", "test_every_field_of_every_message_changes_the_answer"),
        (FLOW + "parameter_walk_flow.py", "test_every_parameter_changes_the_answer_or_is_refused", "test_a_value_that_means_nothing_is_refused")]),
    ("The critical path credited a parent with time that a child covered", [
        (UNIT + "link/critical_path_test.c", "gives_covered_time_to_the_sibling_that_covers_it", "lists_what_outlives_everything_above_it"),
        ("tests/prop/trace_path_prop.c", "walks_the_critical_path_like_slow_obvious_code")]),
    ("Figures of a span were longer than the span", [
        (FLOW + "known_flow.py", "test_no_number_of_a_span_is_longer_than_it_lasted_on_its_threads", "test_under_five_samples_no_form_has_times_or_a_hot_path",
         "test_samples_worth_more_than_their_span_are_cut_in_every_answer", "test_a_trace_says_what_a_span_alone_has_more"),
        (FLOW + "conservation_flow.py", "test_mixed_worlds_are_given_once_and_no_figure_is_too_large")]),
    ("Recursion hid HOT PATH; the runtime was to be optimised; late samples counted; one frame for each address; lambdas without their function", [
        (FLOW + "first_seen_flow.py", "test_recursion_does_not_hide_the_hot_path", "test_the_default_is_time_and_not_a_number_of_samples"),
        (FLOW + "known_flow.py", "test_no_call_names_the_runtime_as_what_to_optimise"),
        (UNIT + "link/attribution_test.c", "leaves_what_names_a_span_that_did_not_run_then"),
        (FLOW + "symbols_flow.py", "test_a_stripped_program_has_one_frame_a_function"), (UNIT + "symbol/demangler_test.c", "says_cxx_templates_lambdas_and_clones")]),
]
HEAD = """
## What was wrong once

Answers that were given with confidence and were wrong, as they were first seen, and the tests that fail when one comes back.

| what was wrong | tests |
|---|---|
"""


def page():
    text = HEAD
    for what, tests in WRONG:
        places = "; ".join(f"{file.removeprefix('tests/')}: " + ", ".join(f"*{name.removeprefix('test_').replace('_', ' ')}*" for name in names) for file, *names in tests)
        text += f"| {what} | {places} |\n"
    return text


def missing(source):
    """Tests that are named and not there."""
    for _, tests in WRONG:
        for file, *names in tests:
            with open(os.path.join(source, file), encoding="utf-8") as f:
                text = f.read()
            for name in names:
                if not re.search(rf"(def |, |test\(\"){re.escape(name)}\b", text):
                    yield f"{file}: {name}"
