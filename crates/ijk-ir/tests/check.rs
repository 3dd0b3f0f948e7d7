//! Rules of docs/language/i.md, sections 1 to 6: what programs mean, and what is said of wrong ones.

use ijk_ir::core::{Init, Instance, Program};
use ijk_ir::{Compilation, Signature, compile_source, instantiate};
use ijk_syntax::{Diagnostic, Severity};
use ijk_types::{DType, Monoid, Reducer};

fn compiled(source: &str) -> Program {
    let compilation = compile_source(source);
    let Compilation { program, diagnostics, .. } = compilation;
    program.unwrap_or_else(|| panic!("{source}: {diagnostics:#?}"))
}

fn errors(source: &str) -> Vec<Diagnostic> {
    let all = compile_source(source).diagnostics;
    all.into_iter().filter(|d| d.severity == Severity::Error).collect()
}

/// The one error of a program: its message and the text it points at.
fn error(source: &str) -> (String, String) {
    let errors = errors(source);
    assert_eq!(errors.len(), 1, "{source}: {errors:#?}");
    let span = errors[0].span;
    (errors[0].message.clone(), source[span.start as usize..span.end as usize].to_string())
}

fn signature(source: &str) -> String {
    Signature::of(&compiled(source)).to_string()
}

fn instance(source: &str, shapes: &[&[u64]]) -> Result<Instance, String> {
    let program = compiled(source);
    let arguments: Vec<(DType, &[u64])> = shapes.iter().map(|s| (DType::F32, *s)).collect();
    instantiate(&program, &arguments)
        .map_err(|errors| errors.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("; "))
}

fn shape(source: &str, shapes: &[&[u64]]) -> Result<Vec<u64>, String> {
    let program = compiled(source);
    let instance = instance(source, shapes)?;
    Ok(instance.shapes[program.outputs[0].0 as usize].clone())
}

const ALL: &str = "where T: bool int float complex";

#[test]
fn signatures_of_simple_programs() {
    assert_eq!(signature("ik*kj~ijk"), format!("(T[2], T[2]) -> T[3] {ALL}"));
    assert_eq!(signature("ij~ji"), format!("(T[2]) -> T[2] {ALL}"));
    assert_eq!(signature("I"), format!("(T[r]) -> T[r] {ALL}"));
    assert_eq!(
        signature("I | I"),
        format!("(T[r], U[r1]) -> (T[r], U[r1]) {ALL}, U: bool int float complex")
    );
    assert_eq!(signature("i @lt j~ij"), "(T[1], T[1]) -> bool[2] where T: bool int float");
    assert_eq!(signature("@where(i,i,0.5)~i"), "(bool[1], T[1]) -> T[1] where T: float complex");
    assert_eq!(signature("@abs i~i"), "(T[1]) -> real(T)[1] where T: int float complex");
    assert_eq!(signature("@argmax ij~i"), "(T[2]) -> i64[1] where T: bool int float");
    assert_eq!(signature("@index i~i"), format!("(T[1]) -> i64[1] {ALL}"));
}

#[test]
fn moduli_share_the_type_of_their_real_parts_only() {
    let source = "(@abs i~i | @abs i~i) . i+j~ij";
    let program = compiled(source);
    assert_eq!(program.same_real, vec![(0, 1)]);
    let shapes: &[u64] = &[2];
    let fits = instantiate(&program, &[(DType::C64, shapes), (DType::F32, shapes)]).unwrap();
    assert_eq!(fits.dtypes[program.outputs[0].0 as usize], DType::F32);
    assert!(instantiate(&program, &[(DType::C64, shapes), (DType::F64, shapes)]).is_err());
    let mixed = compiled("(@abs i~i | I) . i+j~ij");
    assert!(instantiate(&mixed, &[(DType::C64, shapes), (DType::F32, shapes)]).is_ok());
    assert!(instantiate(&mixed, &[(DType::C64, shapes), (DType::C64, shapes)]).is_err());
}

#[test]
fn chains_feed_first_inputs_and_append_leftovers() {
    let source = "ik*kj~ijk . +ijk~ij . ij+j~ij";
    assert_eq!(signature(source), format!("(T[2], T[2], T[1]) -> T[2] {ALL}"));
    assert_eq!(shape(source, &[&[2, 3], &[3, 4], &[4]]).unwrap(), [2, 4]);
}

#[test]
fn compose_is_the_chain_turned_round() {
    assert_eq!(
        compiled("m: ik*kj~ijk; a: +ijk~ij; a << m").statements,
        compiled("m: ik*kj~ijk; a: +ijk~ij; m  . a").statements
    );
}

#[test]
fn fanout_shares_and_swap_swaps() {
    let source = "(I & +i~.) . i/.~i";
    assert_eq!(signature(source), "(T[1]) -> T[1] where T: int float complex");
    let program = compiled("~(i*jk~ijk)");
    assert_eq!(Signature::of(&program).to_string(), format!("(T[2], T[1]) -> T[3] {ALL}"));
}

#[test]
fn a_reduction_starts_at_the_identity_and_a_map_at_zero() {
    let sum = compiled(">ij~i");
    assert_eq!(sum.statements[0].init, Init::Identity(Monoid::Max));
    assert_eq!(sum.statements[0].reduce, Some(Reducer::Monoid(Monoid::Max)));
    let map = compiled("*i~ii");
    assert_eq!((map.statements[0].init, map.statements[0].reduce), (Init::Zero, None));
}

#[test]
fn brackets_in_outputs_reduce_with_two_letters_or_a_division() {
    assert!(compiled("+(i*j)~[i+j]").statements[0].reduce.is_some());
    assert!(compiled("+i~[i/2]").statements[0].reduce.is_some());
    assert!(compiled("+i~[2*i]").statements[0].reduce.is_none());
    assert!(compiled("i*j~[i+j]").statements[0].reduce.is_none());
}

#[test]
fn repeated_letters_are_diagonals() {
    assert_eq!(shape("ii~i", &[&[3, 3]]).unwrap(), [3]);
    assert_eq!(shape("i~ii", &[&[3]]).unwrap(), [3, 3]);
    let message = shape("+ii~.", &[&[3, 4]]).unwrap_err();
    assert_eq!(message, "letter `i` is 3 on axis 0 of argument 1 but 4 on axis 1 of argument 1");
}

#[test]
fn letters_constrain_extents_across_arguments() {
    let message = shape("ik*kj~ijk", &[&[2, 3], &[4, 5]]).unwrap_err();
    assert_eq!(message, "letter `k` is 3 on axis 1 of argument 1 but 4 on axis 0 of argument 2");
}

#[test]
fn messages_name_results_of_expressions() {
    let message = shape("+ij~i . i*i~i", &[&[2, 3], &[4]]).unwrap_err();
    let expected =
        "letter `i` is 2 on axis 0 of the result of `+ij~i` but 4 on axis 0 of argument 2";
    assert_eq!(message, expected);
}

#[test]
fn letters_of_the_output_alone_have_extent_one_or_their_braces() {
    assert_eq!(shape("i~ij", &[&[3]]).unwrap(), [3, 1]);
    assert_eq!(shape("i~ij{10}", &[&[3]]).unwrap(), [3, 10]);
    assert_eq!(shape("i{n}*j~ijk{n}", &[&[3], &[2]]).unwrap(), [3, 2, 3]);
}

#[test]
fn braces_pin_and_names_mean_one_extent() {
    assert!(
        shape("i{10}~i", &[&[3]])
            .unwrap_err()
            .contains("`i` is 3 on axis 0 of argument 1 but 10 in braces")
    );
    assert_eq!(shape("i{n}j{n}~ij", &[&[3, 3]]).unwrap(), [3, 3]);
    let message = shape("i{n}j{n}~ij", &[&[3, 4]]).unwrap_err();
    assert_eq!(message, "letter `j` is 4 on axis 1 of argument 1 but 3 as `n`");
}

#[test]
fn index_takes_a_letter() {
    let (message, at) = error("@index(i-1)~i");
    assert_eq!(message, "`@index` takes a letter, not the value of a function");
    assert_eq!(at, "@index");
}

#[test]
fn a_name_may_wait_for_an_axis_of_an_array_that_waits_for_it() {
    // `j` is `k`, known before the extent of `m` is.
    assert_eq!(shape("k~km{n} . +j{n}l~j", &[&[3]]).unwrap(), [3]);
    assert_eq!(shape("k~km{n} . kl*j~[1+k]lj . +a{n}lj~j", &[&[1], &[3]]).unwrap(), [3]);
    // `k` waits for the name that `m` determines.
    let source = "(.*jj~m{n}j | h~hi) . k{n}e*em{n}~kem";
    assert_eq!(shape(source, &[&[], &[2, 2], &[2]]).unwrap(), [1, 2, 1]);
    // The brackets wait for the array they index.
    let source = "(i~ij{n} . [x][2*y]~xy) | k{n}~k";
    assert_eq!(shape(source, &[&[5], &[4]]).unwrap(), [5, 2]);
}

#[test]
fn a_name_may_be_determined_by_a_later_statement() {
    let source = "(i~ij{n} | I) . ij*j{n}~ij";
    assert_eq!(shape(source, &[&[2], &[5]]).unwrap(), [2, 5]);
}

#[test]
fn a_name_that_nothing_determines_is_an_error() {
    let (message, at) = error("i~ij{n}");
    assert_eq!(message, "nothing determines the extent `n`");
    assert_eq!(at, "n");
}

#[test]
fn bracket_letters_range_as_far_as_accesses_stay_in_bounds() {
    assert_eq!(shape("[i+k]*k~ik . +ik~i", &[&[10], &[3]]).unwrap(), [8]);
    assert_eq!(shape("[2*i]~i", &[&[7]]).unwrap(), [4]);
    assert_eq!(shape("[2*i+1]~i", &[&[7]]).unwrap(), [3]);
    assert_eq!(shape("[5-i]~i", &[&[9]]).unwrap(), [6]);
    assert_eq!(shape("[i/3]~i", &[&[2]]).unwrap(), [6]);
    assert_eq!(shape("[i+k]*k~ik", &[&[2], &[3]]).unwrap(), [0, 3]);
    assert_eq!(shape("b[4*h+w{4}]~bhw", &[&[2, 12]]).unwrap(), [2, 3, 4]);
    assert_eq!(shape("[i+j]*[j+k{2}]~ijk", &[&[5], &[4]]).unwrap(), [3, 3, 2]);
}

#[test]
fn undetermined_letters_name_themselves() {
    let all = errors("[i+j]~ij");
    let messages: Vec<&str> = all.iter().map(|e| e.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "the extent of letter `i` is not determined",
            "the extent of letter `j` is not determined"
        ]
    );
    assert_eq!(error("[i%4]~i").1, "i");
    assert_eq!(error("[i-i]~i").0, "the extent of letter `i` is not determined");
}

#[test]
fn accesses_out_of_bounds_are_errors() {
    let message = shape("[i+1]*i~i", &[&[3], &[3]]).unwrap_err();
    assert_eq!(message, "index `i + 1` ranges from 1 to 3, but axis 0 of argument 1 has extent 3");
    assert!(shape("[i-1]*i~i", &[&[3], &[3]]).unwrap_err().contains("from -1 to 1"));
    assert_eq!(shape("[i+1]*i~i", &[&[0], &[0]]).unwrap(), [0]);
}

#[test]
fn output_brackets_extend_to_their_greatest_value() {
    assert_eq!(shape("ij~[4*i+j{4}]", &[&[3, 4]]).unwrap(), [12]);
    assert_eq!(shape("+(i*j)~[i+j]", &[&[3], &[4]]).unwrap(), [6]);
    assert_eq!(shape("i~[i+2]", &[&[3]]).unwrap(), [5]);
    assert_eq!(shape("i~[i+2]", &[&[0]]).unwrap(), [0]);
    assert!(shape("i~[i-1]", &[&[3]]).unwrap_err().contains("reaches -1"));
}

#[test]
fn stores_that_meet_are_errors() {
    let message = shape("i*j~[i+j]", &[&[3], &[4]]).unwrap_err();
    assert!(message.contains("(0, 1) and (1, 0) fall on one output element, (1)"), "{message}");
    assert!(shape("i*j~[i+j]", &[&[1], &[4]]).is_ok());
    assert_eq!(shape("i~[i/3][i%3]", &[&[10]]).unwrap(), [4, 3]);
    assert!(shape("i~[i/3]", &[&[10]]).is_err());
    assert_eq!(shape("i~[i%7]", &[&[5]]).unwrap(), [5]);
    assert!(shape("i*j~[i+1000*j]", &[&[3000000], &[300000]]).unwrap_err().contains("fall on"));
    assert_eq!(shape("i*j~[j]i", &[&[3000000], &[30000]]).unwrap(), [30000, 3000000]);
}

#[test]
fn positions_need_values() {
    assert_eq!(shape("@argmax ij~i", &[&[0, 0]]).unwrap(), [0]);
    assert!(shape("@argmax ij~i", &[&[2, 0]]).unwrap_err().contains("`j` has extent 0"));
    assert!(error("@argmax ijk~i").0.contains("`j` and `k` are dropped"));
    assert!(error("@argmin i~i").0.contains("none is dropped"));
}

#[test]
fn sizes_that_no_memory_holds_are_errors() {
    let big = 1 << 40;
    assert!(shape("i*j~ij", &[&[big], &[big]]).unwrap_err().contains("too large for memory"));
    assert!(shape("i~ij{9000000000000000000}", &[&[9]]).unwrap_err().contains("too large"));
    assert!(shape("i~[9223372036854775807*i]", &[&[9]]).unwrap_err().contains("too large"));
}

#[test]
fn dropped_letters_offer_both_folds() {
    let all = errors("ik*kj~ij");
    assert_eq!(all.len(), 1);
    let fixes: Vec<&str> =
        all[0].hints.iter().map(|h| h.replacement.as_ref().unwrap().1.as_str()).collect();
    assert_eq!(fixes, ["+(ik*kj)~ij", "*(ik*kj)~ij"]);
    for fix in fixes {
        compiled(fix);
    }
    let all = errors("ij~i");
    assert_eq!(all[0].hints[0].replacement.as_ref().unwrap().1, "+ij~i");
    let all = errors("@tanh ij~i");
    assert_eq!(all[0].hints[0].replacement.as_ref().unwrap().1, "+(@tanh ij)~i");
    compiled("+(@tanh ij)~i");
    let all = errors("-ij~i");
    assert_eq!(all[0].hints[0].replacement.as_ref().unwrap().1, "+(-ij)~i");
    compiled("+(-ij)~i");
    assert_eq!(errors("@where(i,i,i)~.").len(), 1);
    assert_eq!(errors("-(i+j)~i").len(), 1);
}

#[test]
fn not_affine() {
    assert_eq!(
        error("[i*j]*ij~ij"),
        ("a product of letters is not affine in `[i*j]`".into(), "i*j".into())
    );
    assert_eq!(
        error("[i/j]*ij~ij"),
        ("division by a letter is not affine in `[i/j]`".into(), "j".into())
    );
    assert!(error("[i%0]*i~i").0.contains("must be positive"));
    assert_eq!(shape("[i*(2+1)]~i", &[&[7]]).unwrap(), [3]);
    assert!(error("[i*9223372036854775807*2]~i").0.contains("64 bits"));
}

#[test]
fn type_conflicts_name_operators() {
    let (message, at) = error("@tanh(i @lt j)~ij");
    assert_eq!(
        message,
        "no element type fits: `@tanh` accepts floating-point numbers, complex numbers, but `@lt` gives bool"
    );
    assert_eq!(at, "@tanh");
    let (message, at) = error("i @and 0.5~i");
    assert_eq!(
        message,
        "no element type fits: `@and` accepts bool, but `0.5` can be floating-point numbers, complex numbers"
    );
    assert_eq!(at, "@and");
    let (message, _) = error("(i @lt j~ij) . -ij~ij");
    assert!(message.contains("`@lt` gives bool, but `-` accepts integers"), "{message}");
    assert!(error("@where(i,1,0)~i").0.contains("both values"));
    assert_eq!(error("@where(2,i,i)~i").1, "2");
}

#[test]
fn run_time_types() {
    let program = compiled("ik*kj~ijk");
    let s: &[u64] = &[2, 2];
    let all = instantiate(&program, &[(DType::F32, s), (DType::I32, s)]).unwrap_err();
    assert!(all[0].message.starts_with("argument 1 is f32 but argument 2 is i32"));
    let program = compiled("i-1~i");
    let all = instantiate(&program, &[(DType::Bool, &[2])]).unwrap_err();
    assert_eq!(
        all[0].message,
        "argument 1 is bool, but `-` accepts integers, floating-point numbers, complex numbers"
    );
    let program = compiled("@not i~i");
    let all = instantiate(&program, &[(DType::F32, &[2])]).unwrap_err();
    assert_eq!(all[0].message, "argument 1 is f32, but must be bool");
    let all = instantiate(&program, &[]).unwrap_err();
    assert_eq!(all[0].message, "the program takes 1 argument, but 0 are given");
    let all = instantiate(&program, &[(DType::Bool, &[2, 3])]).unwrap_err();
    assert_eq!(all[0].message, "argument 1 has rank 2 (shape [2, 3]), but `i` takes rank 1");
}

#[test]
fn rank_conflicts_name_both_places() {
    let all = errors("ij~ji . +ijk~ij");
    assert_eq!(all.len(), 1);
    assert!(all[0].message.starts_with("ranks differ: `ij~ji` has rank 2, but `ijk` has rank 3"));
    assert_eq!(all[0].related.len(), 1);
}

#[test]
fn chains_that_fit_the_other_way_round_say_so() {
    let all = errors("two: I & I; one: +i~.; two . one");
    assert_eq!(all[0].message, "the left gives 2 outputs, but the right takes only 1 input");
    assert_eq!(
        all[0].hints[0].message,
        "`.` chains left to right; did you mean `one . two` (or `two << one`)?"
    );
}

#[test]
fn swap_needs_two_inputs() {
    assert_eq!(error("~(i~i)").1, "~(i~i)");
}

#[test]
fn cycles_list_their_path() {
    let (message, _) = error("a: b . I; b: c; c: a; a");
    assert_eq!(message, "`a` is defined by itself: a → b → c → a");
    assert_eq!(error("a: a; a").0, "`a` is defined by itself: a → a");
}

#[test]
fn unknown_names_offer_the_nearest() {
    let all = errors("matmul: ik*kj~ijk; matmull");
    assert_eq!(all[0].message, "unknown name `matmull`");
    assert_eq!(all[0].hints[0].replacement.as_ref().unwrap().1, "matmul");
}

#[test]
fn unused_bindings_are_warnings() {
    let all = compile_source("a: i~i; b: i~i; a").diagnostics;
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].severity, all[0].message.as_str()),
        (Severity::Warning, "`b` is never used")
    );
}

#[test]
fn bindings_are_polymorphic() {
    let source = "d: I & I; (d | d) . (i+i~i | ij+ij~ij)";
    assert!(signature(source).starts_with("(T[1], U[2]) -> (T[1], U[2])"));
}

#[test]
fn several_errors_are_reported_at_once() {
    let all = errors("a: ij~i; b: x . y; c: [i*j]*ij~ij; d: @not(i+0.5)~i; a");
    assert!(all.len() >= 5, "{all:#?}");
}
