//! Dependencies against brute force: every element of small random programs is tracked back.

use ijk_ir::core::{ArrayId, Init, Instance, Program, ScalarNode};
use ijk_ir::{compile_source, dependencies, instantiate, reaches, sources, targets};
use ijk_types::DType;
use std::collections::{BTreeSet, HashMap};

type Point = Vec<u64>;
/// Inputs and points that an element is computed from.
type Sources = BTreeSet<(usize, Point)>;

fn points(shape: &[u64]) -> Vec<Point> {
    let mut all = vec![Vec::new()];
    for n in shape {
        all = all
            .into_iter()
            .flat_map(|p: Point| (0..*n).map(move |x| [p.clone(), vec![x]].concat()))
            .collect();
    }
    all
}

/// For each array and element, what it is computed from, by the meaning of statements.
fn tracked(program: &Program, instance: &Instance) -> Vec<HashMap<Point, Sources>> {
    let mut arrays: Vec<HashMap<Point, Sources>> = vec![HashMap::new(); program.arrays.len()];
    for (n, id) in program.inputs.iter().enumerate() {
        for p in points(&instance.shapes[id.0 as usize]) {
            arrays[id.0 as usize].insert(p.clone(), BTreeSet::from([(n, p)]));
        }
    }
    for (statement, extents) in program.statements.iter().zip(&instance.extents) {
        assert!(!matches!(statement.init, Init::From(_)));
        let mut out: HashMap<Point, Sources> = HashMap::new();
        for x in points(extents) {
            let x: Vec<i64> = x.iter().map(|v| *v as i64).collect();
            let at: Point = statement.out_index.iter().map(|e| e.eval(&x) as u64).collect();
            let sources = out.entry(at).or_default();
            for node in &statement.value.nodes {
                if let ScalarNode::Access(a) = node {
                    let p: Point = a.index.iter().map(|e| e.eval(&x) as u64).collect();
                    sources
                        .extend(arrays[a.array.0 as usize].get(&p).into_iter().flatten().cloned());
                }
            }
        }
        arrays[statement.out.0 as usize] = out;
    }
    arrays
}

fn compare(source: &str, shapes: &[&[u64]]) -> Result<(), String> {
    let compiled = compile_source(source);
    let program = compiled.program.ok_or_else(|| format!("{:?}", compiled.diagnostics))?;
    let arguments: Vec<(DType, &[u64])> = shapes.iter().map(|s| (DType::F32, *s)).collect();
    let instance = instantiate(&program, &arguments).map_err(|e| e[0].message.clone())?;
    let truth = tracked(&program, &instance);
    let mut forward: HashMap<(usize, Point), BTreeSet<(usize, Point)>> = HashMap::new();
    for (o, id) in program.outputs.iter().enumerate() {
        for p in points(&instance.shapes[id.0 as usize]) {
            let wanted = truth[id.0 as usize].get(&p).cloned().unwrap_or_default();
            let sets = dependencies(&program, &instance, o, &p);
            let mut found = Sources::new();
            for (n, set) in sets.iter().enumerate() {
                assert!(set.is_exact(), "{source} at {p:?}: {set}");
                let all = set.points(100_000).unwrap();
                for q in &all {
                    assert!(set.contains(q), "{source}: {set} lacks {q:?}");
                }
                let shape = &instance.shapes[program.inputs[n].0 as usize];
                let inside = points(shape).into_iter().filter(|q| set.contains(q)).count();
                assert_eq!(inside, all.len(), "{source} at {p:?}: {set}");
                found.extend(all.into_iter().map(|q| (n, q)));
            }
            assert_eq!(found, wanted, "{source} at {p:?}");
            for s in wanted {
                forward.entry(s).or_default().insert((o, p.clone()));
            }
        }
    }
    for (n, id) in program.inputs.iter().enumerate() {
        for q in points(&instance.shapes[id.0 as usize]) {
            let wanted = forward.get(&(n, q.clone())).cloned().unwrap_or_default();
            let mut found = BTreeSet::new();
            for (o, set) in reaches(&program, &instance, n, &q).iter().enumerate() {
                assert!(set.is_exact(), "{source} from {q:?}: {set}");
                found.extend(set.points(100_000).unwrap().into_iter().map(|p| (o, p)));
            }
            assert_eq!(found, wanted, "{source} from {q:?}");
        }
    }
    Ok(())
}

#[test]
fn of_chosen_programs() {
    let cases: &[(&str, &[&[u64]])] = &[
        ("ik*kj~ijk . +ijk~ij", &[&[2, 3], &[3, 2]]),
        ("(I & +i~.) . i/.~i", &[&[4]]),
        ("[i+k]*k~ik . +ik~i", &[&[6], &[3]]),
        ("[2*i+1]~i . [3-i]~i", &[&[9]]),
        ("ij~[4*i+j{4}] . [i/3]~i", &[&[3, 4]]),
        ("i~[i/3][i%3] . +ij~j", &[&[8]]),
        ("+(i*j)~[i+j] . [2*i]~i", &[&[4], &[3]]),
        ("+ijk~[i+j+k]", &[&[3, 2, 3]]),
        ("+ij~[2*i+3*j] . i~ii", &[&[3, 3]]),
        ("+i~[i/2] . +i~[i%2] . i*j~ij", &[&[7], &[2]]),
        ("ii~i . i~ii . ij~ji", &[&[3, 3]]),
        ("@argmax ij~i . i+i~i", &[&[3, 2], &[3]]),
        ("+ij~[(i+2*j)/3]", &[&[4, 3]]),
        ("+ij~[(i+2*j)%3][j/2]", &[&[4, 3]]),
        ("[(i{6}+1)%4]~i", &[&[4]]),
        ("I & I & +ij~j", &[&[2, 2]]),
        ("@index i~i", &[&[3]]),
        ("i~ij{3}", &[&[0]]),
    ];
    for (source, shapes) in cases {
        if let Err(message) = compare(source, shapes) {
            assert!(
                message.contains("argument 2 is i64") || source.starts_with("@argmax"),
                "{source}: {message}"
            );
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// A bracket or letter that reads or writes with letters among `i j k`.
fn position(random: &mut Random) -> String {
    let letter = |random: &mut Random| ["i", "j", "k"][random.below(3)];
    match random.below(9) {
        0..=3 => letter(random).into(),
        4 => format!("[{}*{}]", random.below(3) + 1, letter(random)),
        5 => format!("[{}+{}]", letter(random), letter(random)),
        6 => format!("[{}/{}]", letter(random), random.below(3) + 1),
        7 => format!("[{}%{}]", letter(random), random.below(3) + 1),
        _ => format!(
            "[{}*{}+{}+{}]",
            random.below(3) + 1,
            letter(random),
            letter(random),
            random.below(2)
        ),
    }
}

fn compound(random: &mut Random) -> String {
    let positions: String = (0..random.below(3)).map(|_| position(random)).collect();
    if positions.is_empty() { ".".into() } else { positions }
}

#[test]
fn of_random_programs() {
    let mut random = Random(7);
    let (mut agreed, mut tried) = (0, 0);
    while agreed < 150 && tried < 60_000 {
        tried += 1;
        let first = compound(&mut random);
        let mut source = format!("+({first}*{})~{}", compound(&mut random), compound(&mut random));
        for _ in 0..random.below(3) {
            source += &format!(" . +{}~{}", compound(&mut random), compound(&mut random));
        }
        let Some(program) = compile_source(&source).program else { continue };
        let shapes: Vec<Vec<u64>> = (program.inputs.iter())
            .map(|id| {
                let rank = program.arrays[id.0 as usize].rank.unwrap_or(0);
                (0..rank).map(|_| [1, 2, 3, 4, 5][random.below(5)]).collect()
            })
            .collect();
        let shapes: Vec<&[u64]> = shapes.iter().map(|s| &s[..]).collect();
        agreed += usize::from(compare(&source, &shapes).is_ok());
    }
    assert_eq!(agreed, 150, "of {tried}");
}

#[test]
fn of_large_extents_at_once() {
    let program = compile_source("abcd*eb~abcde . +abcde~aecd").program.unwrap();
    let big: &[u64] = &[480, 480, 480, 480];
    let instance = instantiate(&program, &[(DType::F32, big), (DType::F32, &[480, 480])]).unwrap();
    let sets = dependencies(&program, &instance, 0, &[1, 2, 3, 4]);
    assert_eq!(sets[0].to_string(), "{(1, b, 3, 4) : b in 0..480}");
    assert_eq!(sets[1].to_string(), "{(2, b) : b in 0..480}");
    let program = compile_source("[i+k]*k~ik . +ik~i").program.unwrap();
    let instance =
        instantiate(&program, &[(DType::F32, &[10_000_000]), (DType::F32, &[64])]).unwrap();
    let sets = dependencies(&program, &instance, 0, &[1000]);
    assert_eq!(sets[0].to_string(), "{(k + 1000) : k in 0..64}");
    let sets = reaches(&program, &instance, 0, &[10]);
    assert_eq!(sets[0].to_string(), "{(i) : i in 0..11}");
}

#[test]
fn shared_results_are_followed_once() {
    let mut source = String::from("d: (I & I) . i+i~i\n");
    source += &vec!["d"; 40].join(" . ");
    let program = compile_source(&source).program.unwrap();
    let instance = instantiate(&program, &[(DType::F32, &[8])]).unwrap();
    assert_eq!(dependencies(&program, &instance, 0, &[5])[0].to_string(), "{(5)}");
    assert_eq!(reaches(&program, &instance, 0, &[5])[0].to_string(), "{(5)}");
}

#[test]
fn what_is_too_much_is_a_superset_that_says_so() {
    let program = compile_source("+ijkl~[i+j+k+l]").program.unwrap();
    let instance = instantiate(&program, &[(DType::F32, &[90, 90, 90, 90])]).unwrap();
    let set = &dependencies(&program, &instance, 0, &[170])[0];
    assert!(!set.is_exact() || set.contains(&[80, 90 - 1, 1, 0]));
    assert!(set.to_string().starts_with('⊆') || set.is_exact());
    assert_eq!(set.rank(), 4);
}

/// Every array of a program, asked about every other, against the definition: an operation reads what its statement
/// reads at its points, and what that depends on.
#[test]
fn any_two_operations() {
    let programs = [
        ("m: ik*kj~ijk; a: +ijk~ij; mm: m.a; mm", vec![vec![2, 3], vec![3, 2]]),
        ("half: i/2~i; half . half . i*i~ij", vec![vec![3], vec![3]]),
        ("(I & +i~.) . i/.~i . [i+k]*k~ik . +ik~i", vec![vec![4], vec![2]]),
        ("(ij~ji & +ij~j) . ij+j~ij", vec![vec![2, 2]]),
    ];
    for (source, shapes) in programs {
        let program = compile_source(source).program.unwrap();
        let arguments: Vec<(DType, &[u64])> = shapes.iter().map(|s| (DType::F64, &s[..])).collect();
        let instance = instantiate(&program, &arguments).unwrap();
        let arrays = 0..program.arrays.len() as u32;
        for (x, y) in arrays.clone().flat_map(|x| arrays.clone().map(move |y| (x, y))) {
            let (x, y) = (ArrayId(x), ArrayId(y));
            for p in points(&instance.shapes[x.0 as usize]) {
                let down = &targets(&program, &instance, x, &p)[y.0 as usize];
                for q in points(&instance.shapes[y.0 as usize]) {
                    // Dependencies and their inverse agree.
                    let up = &sources(&program, &instance, y, &q)[x.0 as usize];
                    assert!(down.is_exact() && up.is_exact(), "{source}");
                    assert_eq!(
                        down.contains(&q),
                        up.contains(&p),
                        "{source}: {x:?} {p:?}, {y:?} {q:?}"
                    );
                }
            }
        }
    }
}

/// Names of bindings lead to their statements.
#[test]
fn paths_of_statements() {
    let paths = |source: &str| compile_source(source).paths;
    assert_eq!(paths("mm: m.a; m: ik*kj~ijk; a: +ijk~ij; mm"), ["mm.m", "mm.a"]);
    assert_eq!(paths("m: ik*kj~ijk; m . +ijk~ij"), ["m", ""]);
    assert_eq!(paths("f: -i~i; g: f.f; g | ~(f | g)"), ["g.f", "g.f", "f", "g.f", "g.f"]);
}
