use ijk_oracle::random::Case;
#[test]
fn dbg() {
    let case = Case::random(std::env::var("S").unwrap().parse().unwrap());
    println!("{}", case.source);
    for i in &case.inputs {
        println!("{} {:?} {:?}", i.value.dtype, i.value.shape, i.layout);
    }
    let (p, _) = ijk_syntax::parse(&case.source);
    let c = ijk_ir::compile(&p, &case.source);
    let a: Vec<(_, Vec<u64>)> = case
        .inputs
        .iter()
        .map(|i| (i.value.dtype, i.value.shape.iter().map(|n| *n as u64).collect()))
        .collect();
    let a: Vec<_> = a.iter().map(|x| (x.0, &x.1[..])).collect();
    let i = ijk_ir::instantiate(&c.program.unwrap(), &a).unwrap();
    println!("{:?}\n{:?}", i.extents, i.shapes);
    let e = ijk_oracle::evaluate_bounded(&p, &case.values()).unwrap();
    println!("{:?} {:?}", e.domains, e.outputs[0].shape);
}
