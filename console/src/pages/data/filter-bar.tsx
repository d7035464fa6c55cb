import { type SyntheticEvent, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { classes } from '../../parts/classes.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Field, Select } from '../../parts/field.tsx';
import type { TableSchema } from '../../service/schema.ts';
import { typeName } from '../../service/types.ts';
import styles from './filter-bar.module.css';
import { conditionOf, type Filter, type Operator, operatorsOf } from './grid-query.ts';
import { ValueInput } from './value-input.tsx';

interface FilterBarProps {
  readonly table: TableSchema;
  readonly filters: readonly Filter[];
  readonly onChange: (filters: readonly Filter[]) => void;
}

/** The conditions in force, each as the SQL that it is, and a way to add one. */
export function FilterBar({ table, filters, onChange }: FilterBarProps) {
  const [isAdding, setAdding] = useState(false);
  return (
    <div className={styles.chips}>
      <Button
        size="small"
        icon="filter"
        off={table.columns.length === 0 && 'The table has no columns that are known'}
        onClick={() => setAdding(true)}
      >
        Filter
      </Button>
      {filters.map((filter, at) => {
        const condition = conditionOf(table, filter);
        const isWrong = condition.kind === 'wrong';
        return (
          <span
            key={`${filter.column} ${filter.operator} ${filter.text}`}
            className={classes(styles.chip, isWrong && styles.wrong)}
            title={isWrong ? condition.why : condition.sql}
          >
            <code>{isWrong ? `${filter.column}: ${condition.why}` : condition.sql}</code>
            <Button
              kind="plain"
              size="small"
              icon="close"
              aria-label="Remove this filter"
              onClick={() => onChange(filters.filter((_, other) => other !== at))}
            />
          </span>
        );
      })}
      {isAdding && (
        <FilterForm
          table={table}
          onAdd={(filter) => {
            onChange([...filters, filter]);
            setAdding(false);
          }}
          onClose={() => setAdding(false)}
        />
      )}
    </div>
  );
}

interface FilterFormProps {
  readonly table: TableSchema;
  readonly onAdd: (filter: Filter) => void;
  readonly onClose: () => void;
}

function FilterForm({ table, onAdd, onClose }: FilterFormProps) {
  const fields = table.columns.filter((field) => operatorsOf(field).length > 0);
  const [name, setName] = useState(fields[0]?.name ?? '');
  const [operator, setOperator] = useState<Operator>('=');
  const [text, setText] = useState('');
  const [isTried, setTried] = useState(false);
  const field = fields.find((each) => each.name === name);
  if (field === undefined) return null;
  const possible = operatorsOf(field);
  const chosen = possible.includes(operator) ? operator : (possible[0] ?? '=');
  const hasValue = chosen !== 'null' && chosen !== 'some';
  const filter: Filter = { column: name, operator: chosen, text: hasValue ? text : '' };
  const condition = conditionOf(table, filter);
  const fault = isTried && condition.kind === 'wrong' ? condition.why : undefined;
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    setTried(true);
    if (condition.kind === 'sql') onAdd(filter);
  };
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="accent" onClick={submit}>
        Add filter
      </Button>
    </>
  );
  return (
    <Dialog title="Filter rows" onClose={onClose} foot={foot}>
      <form className={styles.form} onSubmit={submit}>
        <Field label="Column" note={typeName(field.type)}>
          {(control) => (
            <Select {...control} value={name} onChange={(event) => setName(event.target.value)}>
              {fields.map((each) => (
                <option key={each.name}>{each.name}</option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Condition">
          {(control) => (
            <Select
              {...control}
              value={chosen}
              onChange={(event) => setOperator(event.target.value as Operator)}
            >
              {possible.map((each) => (
                <option key={each} value={each}>
                  {wordsOf[each] ?? each}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {hasValue && (
          <Field label="Value" error={fault}>
            {(control) => (
              <ValueInput
                id={control.id}
                type={field.type}
                text={text}
                isWrong={fault !== undefined}
                onChange={setText}
              />
            )}
          </Field>
        )}
        <code className={styles.sql}>{condition.kind === 'sql' ? condition.sql : '…'}</code>
        <button type="submit" hidden>
          Add
        </button>
      </form>
    </Dialog>
  );
}

const wordsOf: Partial<Record<Operator, string>> = { null: 'is none', some: 'has a value' };
