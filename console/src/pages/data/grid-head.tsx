import type { KeyboardEvent } from 'react';
import { classes } from '../../parts/classes.ts';
import { Icon } from '../../parts/icon.tsx';
import { isOrdered } from '../../service/literals.ts';
import { type Field, typeName } from '../../service/types.ts';
import styles from './grid.module.css';
import type { GridColumns } from './grid-columns.ts';
import type { Sort } from './grid-query.ts';
import { isNumeric } from './grid-row.tsx';

interface GridHeadProps {
  readonly columns: GridColumns;
  readonly fields: readonly Field[];
  readonly numberWidth: number;
  readonly sort: Sort | null;
  readonly onSort: (sort: Sort | null) => void;
}

const stepPixels = 16;

/** Names and types of columns; a press sorts, the edge between two resizes. */
export function GridHead({ columns, fields, numberWidth, sort, onSort }: GridHeadProps) {
  const headers = columns.getHeaderGroups()[0]?.headers ?? [];
  return (
    <div className={styles.head} role="row" aria-rowindex={1} tabIndex={-1}>
      <div
        className={styles.title}
        style={{ width: numberWidth }}
        role="columnheader"
        tabIndex={-1}
      >
        <span className="visually-hidden">Row</span>
      </div>
      {headers.map((header, at) => {
        const field = fields.find(({ name }) => name === header.column.id);
        if (field === undefined) return null;
        const by = sort?.column === field.name ? sort : null;
        const width = header.getSize();
        const resize = (by: number) => {
          columns.setColumnSizing((old) => ({ ...old, [field.name]: Math.max(60, width + by) }));
        };
        return (
          <div
            key={header.id}
            className={classes(styles.title, isNumeric(field.type) && styles.endTitle)}
            style={{ width }}
            role="columnheader"
            tabIndex={-1}
            aria-colindex={at + 2}
            aria-sort={by === null ? 'none' : by.isDescending ? 'descending' : 'ascending'}
          >
            <SortButton field={field} sort={by} onSort={onSort} onResize={resize} />
            {/* biome-ignore lint/a11y/noStaticElementInteractions: by keyboard, Alt with arrows */}
            <div
              className={styles.grip}
              data-active={header.column.getIsResizing()}
              onMouseDown={header.getResizeHandler()}
              onTouchStart={header.getResizeHandler()}
              onDoubleClick={() => header.column.resetSize()}
            />
          </div>
        );
      })}
    </div>
  );
}

interface SortButtonProps {
  readonly field: Field;
  readonly sort: Sort | null;
  readonly onSort: (sort: Sort | null) => void;
  readonly onResize: (by: number) => void;
}

function SortButton({ field, sort, onSort, onResize }: SortButtonProps) {
  const isOff = !isOrdered(field.type);
  const turn = () => {
    if (isOff) return;
    if (sort === null) onSort({ column: field.name, isDescending: false });
    else onSort(sort.isDescending ? null : { ...sort, isDescending: true });
  };
  const press = (event: KeyboardEvent) => {
    if (!event.altKey || !event.key.startsWith('Arrow')) return;
    event.preventDefault();
    onResize(event.key === 'ArrowRight' ? stepPixels : -stepPixels);
  };
  const type = typeName(field.type);
  const hint = isOff ? `Rows cannot be put in order by ${type}` : 'Sort; Alt with arrows resizes';
  return (
    <button
      type="button"
      className={styles.sort}
      aria-disabled={isOff || undefined}
      title={hint}
      onClick={turn}
      onKeyDown={press}
    >
      <span className={styles.name}>{field.name}</span>
      <span className={styles.type}>{type}</span>
      {sort !== null && (
        <span className={styles.direction}>
          <Icon name={sort.isDescending ? 'down' : 'up'} size={13} />
        </span>
      )}
    </button>
  );
}
