import { type SyntheticEvent, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Notice } from '../../parts/state.tsx';
import { whyNoLiteral } from '../../service/literals.ts';
import type { TableSchema } from '../../service/schema.ts';
import { typeName } from '../../service/types.ts';
import { faultsOf, type Texts } from './change-set.ts';
import { ValueInput } from './value-input.tsx';

interface RowFormProps {
  readonly table: TableSchema;
  readonly onInsert: (texts: Texts) => void;
  readonly onClose: () => void;
}

/** A form for a new row, with a control for each column by its type. */
export function RowForm({ table, onInsert, onClose }: RowFormProps) {
  const [texts, setTexts] = useState<Texts>(() => startOf(table));
  const [isTried, setTried] = useState(false);
  const faults = isTried ? faultsOf(table, texts) : {};
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(faultsOf(table, texts)).length === 0) onInsert(texts);
  };
  const impossible = table.columns.filter((field) => {
    return whyNoLiteral(field.type) !== null && field.type.kind !== 'option';
  });
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="accent" onClick={submit}>
        Add to the changes
      </Button>
    </>
  );
  return (
    <Dialog title={`New row of ${table.name}`} form="side" onClose={onClose} foot={foot}>
      {impossible.length > 0 && (
        <Notice kind="warn">
          SQL cannot write {impossible.map(({ name }) => name).join(', ')}: without a default in the
          module, the row is refused. Call a reducer that inserts it.
        </Notice>
      )}
      {table.columns
        .filter((field) => !impossible.includes(field))
        .map(({ name, type }) => (
          <Field
            key={name}
            label={name}
            note={`${typeName(type)}${table.sequences.includes(name) ? ', 0 = next number' : ''}`}
            error={faults[name]}
          >
            {(control) => (
              <ValueInput
                id={control.id}
                type={type}
                text={texts[name] ?? ''}
                isWrong={faults[name] !== undefined}
                isRoomy
                onChange={(text) => setTexts({ ...texts, [name]: text })}
              />
            )}
          </Field>
        ))}
    </Dialog>
  );
}

function startOf(table: TableSchema): Texts {
  const texts = table.columns
    .filter(({ type }) => whyNoLiteral(type) === null)
    .map(({ name, type }) => {
      if (table.sequences.includes(name)) return [name, '0'] as const;
      if (type.kind === 'timestamp') return [name, new Date().toISOString()] as const;
      return [name, type.kind === 'bool' ? 'false' : ''] as const;
    });
  return Object.fromEntries(texts);
}
