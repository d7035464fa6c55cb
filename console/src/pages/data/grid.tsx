import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useMemo,
  useRef,
} from 'react';
import type { TableSchema } from '../../service/schema.ts';
import type { Field } from '../../service/types.ts';
import type { ChangeSet, Edit } from './change-set.ts';
import styles from './grid.module.css';
import type { GridColumns } from './grid-columns.ts';
import { GridHead } from './grid-head.tsx';
import { type Row, rowKey, type Sort } from './grid-query.ts';
import { type Draft, GridRow, type RowEvents, type ShownColumn } from './grid-row.tsx';

/** Which cell the keys act on, and from which row on rows are chosen. */
export interface Spot {
  readonly row: number;
  readonly column: number;
  readonly from: number;
}

export interface GridProps {
  readonly label: string;
  readonly table: TableSchema;
  readonly fields: readonly Field[];
  readonly columns: GridColumns;
  readonly shown: readonly ShownColumn[];
  readonly count: number;
  /** False: there are at least `count` rows. */
  readonly isCounted: boolean;
  readonly rowAt: (index: number) => Row | undefined;
  readonly onShow: (first: number, last: number) => void;
  readonly sort: Sort | null;
  readonly onSort: (sort: Sort | null) => void;
  readonly spot: Spot | null;
  readonly onSpot: (spot: Spot) => void;
  readonly set: ChangeSet;
  readonly draft: Draft | null;
  readonly events: Omit<RowEvents, 'onPress'>;
  /** A row to bring into view; a new object for each time. */
  readonly jump: { readonly index: number } | null;
  /** Keys that the grid does not use itself. */
  readonly onKey: (event: KeyboardEvent) => void;
}

const rowPixels = 30;
const headPixels = 34;
const overscanRows = 8;
/** Elements of rows are used again while one scrolls; more than ever are in view. */
const pooledRows = 256;

/** Rows of a table, as many as fit and a few more; arrows move, whatever the number of rows. */
export function Grid(props: GridProps) {
  const { table, columns, shown, count, rowAt, onShow, spot, onSpot, draft, events } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const idBase = useId();
  const rowsMax = useMemo(() => Math.floor(tallestPixels() / rowPixels) - 2, []);
  const shownCount = Math.min(count, rowsMax);
  const virtual = useRows(scroller, shownCount, props.jump);
  const items = virtual.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => onShow(first, last), [first, last, onShow]);
  const edits = useMemo(() => new Map(props.set.map((edit) => [edit.id, edit])), [props.set]);
  // More rows than one read has may become many, and the columns stay where they are.
  const largest = Math.max(shownCount, count < 100 ? 999 : 999_999);
  const numberWidth = 32 + String(largest).length * 7;
  const rowWidth = numberWidth + shown.reduce((sum, { width }) => sum + width, 0);
  const press = useCallback(
    (row: number, column: number, isRange: boolean) => {
      onSpot({ row, column, from: isRange ? (spot?.from ?? row) : row });
      scroller.current?.focus({ preventScroll: true });
    },
    [onSpot, spot],
  );
  const rowEvents = useMemo(() => ({ ...events, onPress: press }), [events, press]);
  const move = (event: KeyboardEvent) => {
    const page = Math.floor((scroller.current?.clientHeight ?? 300) / rowPixels) - 2;
    const next = spotAfter(event, spot, { rows: shownCount, columns: shown.length, page });
    if (next === null) return props.onKey(event);
    event.preventDefault();
    onSpot(next);
    virtual.scrollToIndex(next.row, { align: 'auto' });
    showColumn(scroller.current, shown, next.column, numberWidth);
  };
  const [low, high] = rangeOf(spot);
  return (
    <div
      ref={scroller}
      className={styles.scroll}
      role="grid"
      aria-label={props.label}
      aria-rowcount={props.isCounted ? count + 1 : -1}
      aria-colcount={shown.length + 1}
      aria-activedescendant={spot === null ? undefined : `${idBase}-${spot.row}-${spot.column}`}
      aria-multiselectable="true"
      tabIndex={0}
      onKeyDown={move}
    >
      <div style={{ height: virtual.getTotalSize(), width: rowWidth }} role="presentation">
        <GridHead
          columns={columns}
          fields={props.fields}
          numberWidth={numberWidth}
          sort={props.sort}
          onSort={props.onSort}
        />
        {items.map(({ index, start }) => (
          <GridRow
            key={index % pooledRows}
            idBase={idBase}
            index={index}
            top={start}
            row={rowAt(index)}
            columns={shown}
            numberWidth={numberWidth}
            edit={editOf(edits, table, rowAt(index))}
            active={spot?.row === index ? spot.column : -1}
            isChosen={index >= low && index <= high}
            draft={spot?.row === index ? draft : null}
            events={rowEvents}
          />
        ))}
      </div>
    </div>
  );
}

function useRows(
  scroller: RefObject<HTMLDivElement | null>,
  count: number,
  jump: GridProps['jump'],
) {
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPixels,
    overscan: overscanRows,
    paddingStart: headPixels,
    scrollPaddingStart: headPixels,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new jump moves the view
  useEffect(() => {
    if (jump !== null) virtual.scrollToIndex(jump.index, { align: 'center' });
  }, [jump]);
  return virtual;
}

function editOf(
  edits: ReadonlyMap<string, Edit>,
  table: TableSchema,
  row: Row | undefined,
): Edit | undefined {
  return row === undefined || edits.size === 0 ? undefined : edits.get(rowKey(table, row));
}

/** The rows between the first that was chosen and the active one. */
export function rangeOf(spot: Spot | null): readonly [low: number, high: number] {
  if (spot === null) return [-1, -1];
  return [Math.min(spot.from, spot.row), Math.max(spot.from, spot.row)];
}

interface Extent {
  readonly rows: number;
  readonly columns: number;
  readonly page: number;
}

function spotAfter(event: KeyboardEvent, spot: Spot | null, extent: Extent): Spot | null {
  if (event.altKey || (event.target as HTMLElement).role !== 'grid') return null;
  const isFar = event.ctrlKey || event.metaKey;
  const { row, column, from } = spot ?? { row: 0, column: 0, from: 0 };
  const steps: Readonly<Record<string, readonly [row: number, column: number]>> = {
    ArrowDown: [isFar ? extent.rows : row + 1, column],
    ArrowUp: [isFar ? 0 : row - 1, column],
    ArrowRight: [row, isFar ? extent.columns : column + 1],
    ArrowLeft: [row, isFar ? 0 : column - 1],
    PageDown: [row + extent.page, column],
    PageUp: [row - extent.page, column],
    Home: [isFar ? 0 : row, 0],
    End: [isFar ? extent.rows : row, extent.columns],
  };
  const step = steps[event.key];
  if (step === undefined || extent.rows === 0) return null;
  const next = clamp(spot === null && !isFar ? 0 : step[0], extent.rows);
  const isRange = event.shiftKey && spot !== null;
  return { row: next, column: clamp(step[1], extent.columns), from: isRange ? from : next };
}

function clamp(value: number, count: number): number {
  return Math.max(0, Math.min(count - 1, value));
}

function showColumn(
  scroller: HTMLElement | null,
  shown: readonly ShownColumn[],
  column: number,
  numberWidth: number,
): void {
  if (scroller === null) return;
  const left = numberWidth + shown.slice(0, column).reduce((sum, { width }) => sum + width, 0);
  const right = left + (shown[column]?.width ?? 0);
  if (column === 0) scroller.scrollLeft = 0;
  else if (left < scroller.scrollLeft) scroller.scrollLeft = left;
  else if (right > scroller.scrollLeft + scroller.clientWidth) {
    scroller.scrollLeft = right - scroller.clientWidth;
  }
}

/** How tall an element can be in this browser. */
function tallestPixels(): number {
  const probe = document.createElement('div');
  probe.style.cssText = 'position:absolute;visibility:hidden;height:1000000000px';
  document.body.append(probe);
  const pixels = probe.getBoundingClientRect().height;
  probe.remove();
  return pixels > 0 ? pixels * 0.98 : 10_000_000;
}
