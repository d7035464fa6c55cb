import { useCallback, useMemo, useState } from 'react';
import { complain } from '../../parts/toast.tsx';
import { typedText } from '../../parts/values.ts';
import { literalOfText, whyNoLiteral } from '../../service/literals.ts';
import type { TableSchema } from '../../service/schema.ts';
import { type ChangeSet, editsMax, withCell } from './change-set.ts';
import { type Row, rowKey } from './grid-query.ts';
import type { Draft, ShownColumn } from './grid-row.tsx';

interface Editing {
  readonly table: TableSchema;
  readonly shown: readonly ShownColumn[];
  readonly rowAt: (index: number) => Row | undefined;
  readonly set: ChangeSet;
  readonly setSet: (set: ChangeSet) => void;
  readonly whyNoWrite: string | false;
}

interface OpenCell {
  readonly row: Row;
  readonly column: ShownColumn;
  readonly text: string;
}

/** Typing into one cell: opened, typed, kept as a change, or given up. */
export function useCellEditing(editing: Editing) {
  const { table, shown, rowAt, set, setSet, whyNoWrite } = editing;
  const [open, setOpen] = useState<OpenCell | null>(null);
  const begin = useCallback(
    (index: number, at: number) => {
      const [row, column] = [rowAt(index), shown[at]];
      if (row === undefined || column === undefined) return;
      const why = whyNoWrite === false ? whyNotEdit(table, column) : whyNoWrite;
      if (why !== false) return complain('This cell cannot be edited', new Error(why));
      const edit = set.find(({ id }) => id === rowKey(table, row));
      const edited = edit?.kind === 'update' ? edit.texts[column.field.name] : undefined;
      setOpen({ row, column, text: edited ?? typedText(column.field.type, row[column.at]) });
    },
    [rowAt, shown, whyNoWrite, table, set],
  );
  const fault = open === null ? null : faultOf(open);
  const type = useCallback((text: string) => {
    setOpen((old) => (old === null ? null : { ...old, text }));
  }, []);
  const done = useCallback(
    (isKept: boolean) => {
      if (open === null || (isKept && fault !== null)) return;
      setOpen(null);
      if (!isKept) return;
      const cell = { column: open.column.field.name, text: open.text };
      const next = withCell(set, table, open.row, cell);
      if (next.length > editsMax) {
        complain('Too many changes', new Error(`Apply these ${editsMax} first.`));
      } else setSet(next);
    },
    [open, fault, set, table, setSet],
  );
  const draft = useMemo((): Draft | null => {
    return open === null ? null : { text: open.text, fault };
  }, [open, fault]);
  return { draft, begin, type, done };
}

function whyNotEdit(table: TableSchema, { field }: ShownColumn): string | false {
  if (field.name === table.primaryKey) return 'The key of a row stays: insert another row.';
  return whyNoLiteral(field.type) ?? false;
}

function faultOf({ column, text }: OpenCell): string | null {
  const literal = literalOfText(column.field.type, text);
  return literal.kind === 'wrong' ? literal.why : null;
}

/** Why rows of a table cannot be changed or deleted. */
export function whyNotWrite(table: TableSchema, whyNot: string | false): string | false {
  const whyNoRow = whyNotInsert(table, whyNot);
  if (whyNoRow !== false) return whyNoRow;
  if (table.primaryKey !== null) return false;
  return 'The table has no primary key by which a row could be found: use SQL.';
}

/** Why rows cannot be added to a table. */
export function whyNotInsert(table: TableSchema, whyNot: string | false): string | false {
  if (table.kind === 'view') return 'Views cannot be written.';
  if (table.kind === 'system') return 'System tables cannot be written.';
  return whyNot;
}
