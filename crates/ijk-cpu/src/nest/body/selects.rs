//! Selects that are skipped if the condition holds for a whole tile: the slot then points to the selected operand.

use super::{Body, Operand};
use crate::error::Fault;
use crate::nest::program::{Instruction, OUT, Over, Slot};
use ijk_kernels::tile::moves;
use ijk_kernels::tuning::time::CHEAP_FUNCTION;

impl Body<'_> {
    pub(super) fn select(&mut self, c: Operand, a: Operand, b: Operand) -> Result<Operand, Fault> {
        let over = c.over.join(a.over).join(b.over);
        let mut sources = [c, a, b];
        let apart = |operand: &Operand| matches!(operand.over, Over::Apart(_));
        for source in sources.iter_mut().filter(|source| !apart(source)) {
            *source = self.spread(*source, over)?;
        }
        self.finished.nanoseconds += CHEAP_FUNCTION;
        let value = self.map(moves(a.dtype, self.lowering.level).select, a.dtype, sources)?;
        self.note_select(a.dtype);
        if let Some(Instruction::Map(map)) = self.finished.instructions.last().cloned()
            && over == Over::Points
            && !sources.iter().any(apart)
        {
            self.finished.instructions.pop();
            self.push(Instruction::Select { map, register: 0 });
        }
        Ok(value)
    }

    /// Extends the lifetime of operands that a select may alias to that of the select. The tile's value has its own
    /// register.
    pub(super) fn keep_selected(&mut self, value: Slot, last_use: &mut [usize]) {
        for instruction in self.finished.instructions.iter_mut().rev() {
            let Instruction::Select { map, .. } = *instruction else { continue };
            if map.dst == value || map.dst == OUT {
                *instruction = Instruction::Map(map);
                continue;
            }
            let (dst, chosen) = (map.dst as usize, map.sources[1].slot as usize);
            last_use[chosen] = last_use[chosen].max(last_use[dst]);
        }
    }

    /// Sets the registers of selects.
    pub(super) fn place_selects(&mut self) {
        let registers = &self.finished.registers;
        for instruction in &mut self.finished.instructions {
            if let Instruction::Select { map, register } = instruction
                && let Some(&(_, at)) = registers.iter().find(|(slot, _)| *slot == map.dst)
            {
                *register = at;
            }
        }
    }
}
