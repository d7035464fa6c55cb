import { memo } from 'react';
import { classes } from '../../parts/classes.ts';
import { Icon } from '../../parts/icon.tsx';
import { Value } from '../../parts/value.tsx';
import { typedText } from '../../parts/values.ts';
import type { Json } from '../../service/json.ts';
import { type Field, typeName, type ValueType } from '../../service/types.ts';
import { Link } from '../../shell/router.tsx';
import type { Edit } from './change-set.ts';
import styles from './grid.module.css';
import type { Row } from './grid-query.ts';
import { ValueInput } from './value-input.tsx';

/** A column as a row draws it. */
export interface ShownColumn {
  readonly field: Field;
  /** Its place in the rows of the service. */
  readonly at: number;
  readonly width: number;
  /** The address of what a value leads to, and the table's name. */
  readonly follow: ((value: Json | undefined) => string | null) | null;
  readonly leadsTo: string;
}

/** What is typed into a cell. */
export interface Draft {
  readonly text: string;
  readonly fault: string | null;
}

export interface RowEvents {
  readonly onPress: (index: number, column: number, isRange: boolean) => void;
  readonly onOpen: (index: number) => void;
  readonly onEdit: (index: number, column: number) => void;
  readonly onType: (text: string) => void;
  readonly onDone: (isKept: boolean) => void;
}

export interface GridRowProps {
  readonly idBase: string;
  readonly index: number;
  readonly top: number;
  readonly row: Row | undefined;
  readonly columns: readonly ShownColumn[];
  readonly numberWidth: number;
  readonly edit: Edit | undefined;
  /** The column of the active cell, if it is in this row; else -1. */
  readonly active: number;
  readonly isChosen: boolean;
  /** What is typed into the active cell. */
  readonly draft: Draft | null;
  readonly events: RowEvents;
}

/** One row. It is drawn again only when something of it changed. */
export const GridRow = memo(function GridRow(props: GridRowProps) {
  const { idBase, index, top, row, columns, numberWidth, edit, active, isChosen, events } = props;
  return (
    <div
      className={classes(
        styles.row,
        isChosen && styles.chosen,
        edit?.kind === 'delete' && styles.deleted,
      )}
      style={{ transform: `translateY(${top}px)` }}
      role="row"
      tabIndex={-1}
      aria-rowindex={index + 2}
      aria-selected={isChosen}
    >
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys */}
      <div
        className={styles.number}
        style={{ width: numberWidth }}
        role="rowheader"
        tabIndex={-1}
        title="Open this row"
        onClick={() => events.onOpen(index)}
      >
        {index + 1}
      </div>
      {columns.map((column, at) => (
        <Cell
          key={column.field.name}
          id={`${idBase}-${index}-${at}`}
          index={index}
          at={at}
          column={column}
          value={row?.[column.at]}
          isThere={row !== undefined}
          edited={edit?.kind === 'update' ? edit.texts[column.field.name] : undefined}
          isActive={active === at}
          draft={active === at ? props.draft : null}
          events={events}
        />
      ))}
    </div>
  );
});

interface CellProps {
  readonly id: string;
  readonly index: number;
  readonly at: number;
  readonly column: ShownColumn;
  readonly value: Json | undefined;
  readonly isThere: boolean;
  readonly edited: string | undefined;
  readonly isActive: boolean;
  readonly draft: Draft | null;
  readonly events: RowEvents;
}

function Cell({ id, index, at, column, value, ...props }: CellProps) {
  const { isThere, edited, isActive, draft, events } = props;
  const { field, width, follow, leadsTo } = column;
  if (draft !== null) {
    return (
      <div
        id={id}
        className={classes(styles.cell, styles.editor)}
        style={{ width }}
        role="gridcell"
        tabIndex={-1}
      >
        <CellEditor field={field} draft={draft} events={events} />
      </div>
    );
  }
  const address = follow === null ? null : follow(value);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys
    <div
      id={id}
      className={classes(
        styles.cell,
        isNumeric(field.type) && styles.end,
        isActive && styles.active,
        edited !== undefined && styles.edited,
      )}
      style={{ width }}
      role="gridcell"
      tabIndex={-1}
      aria-colindex={at + 2}
      onClick={(event) => events.onPress(index, at, event.shiftKey)}
      onDoubleClick={() => events.onEdit(index, at)}
    >
      {edited !== undefined ? (
        <code title={`was ${typedText(field.type, value)}`}>{edited === '' ? '–' : edited}</code>
      ) : isThere ? (
        <Value type={field.type} value={value} />
      ) : (
        <span className={styles.blank} />
      )}
      {address !== null && (
        <Link className={styles.follow} to={address} tabIndex={-1} aria-label={`Go to ${leadsTo}`}>
          <Icon name="right" size={13} />
        </Link>
      )}
    </div>
  );
}

/** Numbers stand at the right, so that their digits are below each other. */
export function isNumeric(type: ValueType): boolean {
  return type.kind === 'integer' || type.kind === 'float';
}

function CellEditor(props: { field: Field; draft: Draft; events: RowEvents }) {
  const { field, draft, events } = props;
  return (
    <>
      <ValueInput
        type={field.type}
        text={draft.text}
        label={`${field.name}, ${typeName(field.type)}`}
        isWrong={draft.fault !== null}
        isFocused
        onChange={events.onType}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === 'Enter' || event.key === 'Tab') {
            event.preventDefault();
            events.onDone(true);
          } else if (event.key === 'Escape') events.onDone(false);
        }}
      />
      {draft.fault !== null && (
        <span className={styles.fault} role="alert">
          {draft.fault}
        </span>
      )}
    </>
  );
}
