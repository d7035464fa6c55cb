import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import type { Json } from '../service/json.ts';
import { type Field, typeName } from '../service/types.ts';
import { classes } from './classes.ts';
import styles from './result-grid.module.css';
import { Value } from './value.tsx';
import { shownValue } from './values.ts';

interface ResultGridProps {
  readonly label: string;
  readonly columns: readonly Field[];
  readonly rows: readonly (readonly Json[])[];
}

const rowPixels = 28;
const headPixels = 32;
const characterPixels = 7.3;
const sampledRows = 50;

/** Rows of an answer, to read; only those in view are drawn. */
export function ResultGrid({ label, columns, rows }: ResultGridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => shownColumns(columns, rows), [columns, rows]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPixels,
    overscan: 10,
    paddingStart: headPixels,
  });
  const width = shown.reduce((sum, column) => sum + column.width, 0);
  return (
    <div
      ref={scroller}
      className={styles.scroll}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
    >
      <div style={{ height: virtual.getTotalSize(), width, minWidth: '100%' }} role="presentation">
        <div className={styles.head} role="row" aria-rowindex={1}>
          {shown.map(({ key, field, width: pixels, isEnd }) => (
            <div
              key={key}
              className={classes(styles.title, isEnd && styles.end)}
              style={{ width: pixels }}
              role="columnheader"
            >
              {field.name} <span>{typeName(field.type)}</span>
            </div>
          ))}
        </div>
        {virtual.getVirtualItems().map(({ index, start }) => (
          <ResultRow key={index} index={index} top={start} row={rows[index] ?? []} shown={shown} />
        ))}
      </div>
    </div>
  );
}

interface ShownColumn {
  readonly key: string;
  readonly field: Field;
  readonly width: number;
  readonly isEnd: boolean;
}

interface ResultRowProps {
  readonly index: number;
  readonly top: number;
  readonly row: readonly Json[];
  readonly shown: readonly ShownColumn[];
}

function ResultRow({ index, top, row, shown }: ResultRowProps) {
  return (
    <div
      className={styles.row}
      style={{ transform: `translateY(${top}px)` }}
      role="row"
      aria-rowindex={index + 2}
    >
      {shown.map(({ key, field, width, isEnd }, at) => (
        <div
          key={key}
          className={classes(styles.cell, isEnd && styles.end)}
          style={{ width }}
          role="cell"
        >
          <Value type={field.type} value={row[at]} />
        </div>
      ))}
    </div>
  );
}

/** Columns as wide as what is in the first rows, within reason. */
function shownColumns(
  columns: readonly Field[],
  rows: readonly (readonly Json[])[],
): readonly ShownColumn[] {
  return columns.map((field, at) => {
    const lengths = rows.slice(0, sampledRows).map((row) => {
      return shownValue(field.type, row[at]).text.length;
    });
    const head = field.name.length + typeName(field.type).length + 3;
    const characters = Math.min(48, Math.max(head, ...lengths));
    return {
      // Two columns of an answer can have one name.
      key: `${at} ${field.name}`,
      field,
      width: Math.ceil(characters * characterPixels) + 24,
      isEnd: field.type.kind === 'integer' || field.type.kind === 'float',
    };
  });
}
