//! Productions, and rows of the table of extents.

use super::Notes;
use crate::generate::et::print::{along_name, function_name, spelled};
use ijk_syntax::ast::Number;
use ijk_syntax::et::ast::{
    Access, Bound, Index, IndexOp, Program, Quantity, Relation, Statement, Value, ValueOp,
};

impl Notes<'_> {
    pub(super) fn program(&mut self, program: &Program) {
        let outputs = if program.outputs.is_empty() { "no outputs" } else { "outputs" };
        self.count(format!("production: {outputs}"));
        self.count(format!("production: {} statements", program.statements.len().min(4)));
        let mut known: Vec<(&str, usize)> = Vec::new();
        for (at, statement) in program.statements.iter().enumerate() {
            let name = &statement.left.array.text[..];
            let first = !known.iter().any(|(other, _)| *other == name);
            self.statement(statement, first);
            known.push((name, at));
        }
        self.loops(program);
        for constraint in &program.constraints {
            let quantity = match constraint.quantity {
                Quantity::Rank => "RANK",
                Quantity::Dims => "DIMS",
            };
            match &constraint.relation {
                Relation::In(..) => self.count(format!("constraint: {quantity} IN")),
                Relation::Equals(bound) => {
                    self.count(format!("constraint: {quantity} ="));
                    self.bound(quantity, bound);
                }
            }
        }
    }

    fn loops(&mut self, program: &Program) {
        for (at, own) in program.loops.iter().enumerate() {
            let order = if own.descending { "decreasing" } else { "increasing" };
            self.count(format!("loop: {order}"));
            self.count(match program.loops_over(at).count() {
                1 => "loop: outermost",
                _ => "loop: in a loop",
            });
            if own.until.is_some() {
                self.count("loop: UNTIL");
            }
            for statement in &program.statements[own.body.clone()] {
                let fixes = |e: &Index| matches!(e, Index::Tuple(t) if t.text == own.tuple.text);
                self.count(match statement.left.indices.iter().any(fixes) {
                    true => "loop: a slice for each pass",
                    false => "loop: state, or computed positions",
                });
                if let Value::Element(read) = &statement.value
                    && read.array.text == statement.left.array.text
                {
                    self.count("loop: a recurrence");
                }
            }
        }
    }

    fn bound(&mut self, quantity: &str, bound: &Bound) {
        let mut both = |x: &Bound, y: &Bound| {
            self.bound(quantity, x);
            self.bound(quantity, y);
        };
        let form = match bound {
            Bound::Integer(..) => "integer",
            Bound::Of(Quantity::Rank, ..) => "RANK",
            Bound::Of(Quantity::Dims, ..) => "DIMS",
            Bound::Min(x, y, _) => {
                both(x, y);
                "min"
            }
            Bound::Max(x, y, _) => {
                both(x, y);
                "max"
            }
            Bound::Sum(terms, _) => {
                terms.iter().for_each(|(_, term)| self.bound(quantity, term));
                if terms.iter().any(|term| term.0) { "-" } else { "+" }
            }
            Bound::Product(first, rest, _) => {
                self.bound(quantity, first);
                for (op, factor) in rest {
                    self.count(format!("constraint: {quantity} = … {}", symbol(*op)));
                    self.bound(quantity, factor);
                }
                return;
            }
        };
        self.count(format!("constraint: {quantity} = … {form}"));
    }

    fn statement(&mut self, statement: &Statement, first: bool) {
        let op = spelled(statement.assign.op);
        let form = if statement.assign.accumulate { format!("{op}=") } else { format!("={op}") };
        let when = if first { "first" } else { "again" };
        self.count(format!("assign: {form} {when}"));
        if statement.left.indices.is_empty() {
            self.count("rule: an array of rank 0");
        }
        for e in &statement.left.indices {
            self.index("left", e);
            if first {
                self.row("sized by", e);
            }
            if has_nested(e) {
                self.count("rule: scatter");
            }
        }
        let name = statement.left.array.text.clone();
        if let Some(declared) = &statement.declared {
            let typed = if declared.element.is_some() { " with a type" } else { "" };
            self.count(format!("production: INPUT{typed}"));
        }
        let whole = matches!(statement.value, Value::Random { .. });
        self.of_value(&statement.value, &name);
        self.variables(statement);
        if !whole && crate::reference::et::terms::sites(&statement.value) > 0 {
            self.count("rule: RANDOM within an expression");
        }
    }

    fn variables(&mut self, statement: &Statement) {
        let tuples = self.tuples.clone();
        let is_tuple = |name: &str| tuples.iter().any(|tuple| tuple == name);
        let all = crate::reference::et::variables::variables(statement, &is_tuple);
        let nothing = Value::Number(Number::Integer(0), statement.span);
        let left = Statement { value: nothing, ..statement.clone() };
        let left = crate::reference::et::variables::variables(&left, &is_tuple);
        let bare = Statement {
            left: Access { indices: Vec::new(), ..statement.left.clone() },
            ..statement.clone()
        };
        let right = crate::reference::et::variables::variables(&bare, &is_tuple);
        if all.is_empty() {
            self.count("rule: no variables");
        }
        if left.iter().any(|name| !right.contains(name)) {
            self.count("rule: broadcast");
        }
        if right.iter().any(|name| !left.contains(name)) {
            self.count("rule: marginalised");
        }
    }

    fn index(&mut self, place: &str, e: &Index) {
        let form = match e {
            Index::Integer(..) => "integer",
            Index::Tuple(_) => "eintup",
            Index::Dims(list, _) => {
                let nested = list.iter().filter(|e| matches!(e, Index::Array(_)));
                nested.for_each(|e| self.index("DIMS", e));
                if list.len() > 1 { "DIMS of several" } else { "DIMS" }
            }
            Index::Rank(list, _) if list.len() > 1 => "RANK of several",
            Index::Rank(..) => "RANK",
            Index::Star(_) => ":",
            Index::Flat(list, _) => {
                list.iter().for_each(|e| self.index("FLAT", e));
                "FLAT"
            }
            Index::Call(function, list, _) => {
                list.iter().for_each(|e| self.index("arithmetic", e));
                self.count(format!("index: a function in {place}"));
                if list.iter().any(has_nested) {
                    self.count(format!("index: {} of an element", function.name()));
                }
                if list.iter().any(|e| matches!(e, Index::Call(..))) {
                    self.count("index: a function of a function");
                }
                function.name()
            }
            Index::Array(access) => {
                self.nested(place, access);
                "nested array"
            }
            Index::Sum(terms, _) => {
                terms.iter().for_each(|(_, term)| self.index("arithmetic", term));
                match &terms[..] {
                    [(true, _)] => "-e",
                    [(false, _)] => "+e",
                    _ if terms.iter().any(|term| term.0) => "difference",
                    _ => "sum",
                }
            }
            Index::Product(first, rest, _) => {
                self.index("arithmetic", first);
                for (op, factor) in rest {
                    self.index("arithmetic", factor);
                    self.count(format!("index: {}", symbol(*op)));
                    if has_nested(first) && matches!(factor, Index::Integer(0, _)) {
                        self.count("rule: an element that makes no difference");
                    }
                    if may_be_negative(first) {
                        self.count(format!("index: {} of a difference", symbol(*op)));
                    }
                    let negative = match factor {
                        Index::Integer(n, _) => *n < 0,
                        Index::Sum(terms, _) => matches!(terms[..], [(true, _)]),
                        _ => false,
                    };
                    if *op != IndexOp::Mul && negative {
                        self.count(format!("index: {} negative", symbol(*op)));
                    }
                }
                "product"
            }
        };
        self.count(format!("index: {form} in {place}"));
        if place != "arithmetic" {
            self.row("index", e);
        }
    }

    fn nested(&mut self, place: &str, access: &Access) {
        let last = access.indices.len().saturating_sub(1);
        let star = access.indices.iter().position(|e| matches!(e, Index::Star(_)));
        let form = match star {
            None => "nested without `:`",
            Some(_) if last == 0 => "`:` alone",
            Some(0) => "`:` first",
            Some(at) if at == last => "`:` last",
            Some(_) => "`:` in the middle",
        };
        self.count(format!("rule: {form} in {place}"));
        if place == "nested" {
            self.count("rule: nested in each other");
        }
        access.indices.iter().for_each(|e| self.index("nested", e));
    }

    /// The row of the table of extents.
    fn row(&mut self, use_: &str, e: &Index) {
        let kind = |e: &Index| if is_static(e) { "static" } else { "e" };
        let row = match e {
            _ if is_static(e) => "any static".to_owned(),
            Index::Flat(..) => "FLAT".to_owned(),
            Index::Call(function, ..) => function.name().to_owned(),
            Index::Array(access) if access.indices.iter().any(|e| matches!(e, Index::Star(_))) => {
                "array[:]".to_owned()
            }
            Index::Sum(terms, _) => match &terms[..] {
                [(false, left), (minus, right)] => {
                    let sign = if *minus { "-" } else { "+" };
                    format!("{} {sign} {}", kind(left), kind(right))
                }
                _ => return,
            },
            Index::Product(left, rest, _) => match &rest[..] {
                [(op, right)] => format!("{} {} {}", kind(left), symbol(*op), kind(right)),
                _ => return,
            },
            _ => return,
        };
        self.count(format!("{use_}: row {row}"));
    }

    fn of_value(&mut self, value: &Value, left: &str) {
        let form = match value {
            Value::Number(Number::Integer(_), _) => "integer",
            Value::Number(Number::Float(x), _) if x.is_nan() => "NAN",
            Value::Number(Number::Float(f64::INFINITY), _) => "INF",
            Value::Number(Number::Float(std::f64::consts::PI), _) => "PI",
            Value::Number(Number::Float(_), _) => "fraction",
            Value::Element(access) => {
                access.indices.iter().for_each(|e| self.index("right", e));
                if access.indices.iter().any(has_nested) {
                    self.count("rule: gather");
                }
                if access.array.text == left {
                    self.count("rule: its own former version");
                }
                if self.tuples.contains(&access.array.text) { "component" } else { "element" }
            }
            Value::Tuple(_) => "position",
            Value::Dims { coord: None, .. } => "DIMS",
            Value::Dims { of, coord: Some(_), .. } if of.len() > 1 => "DIMS of several",
            Value::Dims { coord: Some(_), .. } => "DIMS with coordinate",
            Value::Rank(..) => "RANK",
            Value::Random { lo, hi, float, .. } => {
                self.of_value(lo, left);
                self.of_value(hi, left);
                if *float { "RANDOM FLOAT" } else { "RANDOM INT" }
            }
            Value::Call { function, args, .. } => {
                self.count(format!("function: {}", function_name(function.0, args.len())));
                args.iter().for_each(|arg| self.of_value(arg, left));
                "function"
            }
            Value::Along(along) => {
                self.count(format!("along: {}", along_name(along.function)));
                self.of_value(&along.of, left);
                match &along.place {
                    None => "along",
                    Some(place) => {
                        self.index("place", place);
                        "along with a place"
                    }
                }
            }
            Value::Sum(terms, _) => {
                terms.iter().for_each(|(_, term)| self.of_value(term, left));
                match &terms[..] {
                    [(true, _), ..] => "unary -",
                    _ if terms.iter().any(|term| term.0) => "-",
                    _ => "+",
                }
            }
            Value::Product(first, rest, _) => {
                self.of_value(first, left);
                for (op, factor) in rest {
                    self.of_value(factor, left);
                    self.count(match op {
                        ValueOp::Mul => "value: *",
                        ValueOp::Div => "value: /",
                        ValueOp::FloorDiv => "value: //",
                    });
                }
                return;
            }
        };
        self.count(format!("value: {form}"));
    }
}

fn symbol(op: IndexOp) -> &'static str {
    match op {
        IndexOp::Mul => "*",
        IndexOp::FloorDiv => "//",
        IndexOp::CeilDiv => "//^",
        IndexOp::Mod => "%",
    }
}

/// Returns true if an expression subtracts a term that is not constant.
fn may_be_negative(e: &Index) -> bool {
    matches!(e, Index::Sum(terms, _) if terms.iter().any(|(minus, e)| *minus && !is_static(e)))
}

fn is_static(e: &Index) -> bool {
    match e {
        Index::Integer(..) | Index::Dims(..) | Index::Rank(..) => true,
        Index::Tuple(_) | Index::Flat(..) | Index::Array(_) | Index::Star(_) => false,
        Index::Call(_, list, _) => list.iter().all(is_static),
        Index::Sum(terms, _) => terms.iter().all(|(_, term)| is_static(term)),
        Index::Product(first, rest, _) => {
            is_static(first) && rest.iter().all(|(_, e)| is_static(e))
        }
    }
}

pub(super) fn has_nested(e: &Index) -> bool {
    match e {
        Index::Array(_) => true,
        Index::Flat(list, _) | Index::Call(_, list, _) => list.iter().any(has_nested),
        Index::Sum(terms, _) => terms.iter().any(|(_, term)| has_nested(term)),
        Index::Product(first, rest, _) => {
            has_nested(first) || rest.iter().any(|(_, e)| has_nested(e))
        }
        _ => false,
    }
}
