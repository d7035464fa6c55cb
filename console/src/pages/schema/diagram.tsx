import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Button } from '../../parts/button.tsx';
import { classes } from '../../parts/classes.ts';
import { countText } from '../../parts/numbers.ts';
import { Panel } from '../../parts/page.tsx';
import { Empty, Notice } from '../../parts/state.tsx';
import type { DatabaseSchema } from '../../service/schema.ts';
import { typeName } from '../../service/types.ts';
import { navigate, pageAddress } from '../../shell/router.tsx';
import styles from './diagram.module.css';
import { type Box, boxWidth, headHeight, layoutOf, rowHeight } from './diagram-layout.ts';

interface DiagramProps {
  readonly schema: DatabaseSchema;
  readonly database: string;
}

/** Tables as boxes, and lines from columns that are named after a table to its key. */
export function Diagram({ schema, database }: DiagramProps) {
  const layout = useMemo(() => layoutOf(schema), [schema]);
  const [marked, mark] = useState<string | null>(null);
  if (layout.boxes.length === 0) {
    return (
      <Panel>
        <Empty icon="schema" title="Nothing to draw">
          You may see none of the tables.
        </Empty>
      </Panel>
    );
  }
  return (
    <>
      {layout.left > 0 && (
        <Notice>
          {countText(layout.boxes.length)} tables are drawn, those with references first;{' '}
          {countText(layout.left)} more are in the list.
        </Notice>
      )}
      <Canvas width={layout.width} height={layout.height}>
        {layout.edges.map(({ key, path, from, to }) => (
          <path
            key={key}
            d={path}
            className={classes(styles.edge, (from === marked || to === marked) && styles.marked)}
          />
        ))}
        {layout.boxes.map((box) => (
          <TableBox key={box.table.name} {...{ box, database, mark }} />
        ))}
      </Canvas>
    </>
  );
}

interface TableBoxProps {
  readonly box: Box;
  readonly database: string;
  readonly mark: (table: string | null) => void;
}

/** A link to the rows of the table. */
function TableBox({ box, database, mark }: TableBoxProps) {
  const { table, x, y, height, hidden } = box;
  const address = pageAddress(database, 'data', { table: table.name });
  const shown = table.columns.slice(0, table.columns.length - hidden);
  return (
    <a
      href={address}
      className={styles.box}
      onMouseEnter={() => mark(table.name)}
      onMouseLeave={() => mark(null)}
      onFocus={() => mark(table.name)}
      onBlur={() => mark(null)}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        navigate(address);
      }}
    >
      <g transform={`translate(${x} ${y})`}>
        <rect className={styles.frame} width={boxWidth} height={height} rx="8" />
        <path className={styles.rule} d={`M0 ${headHeight}H${boxWidth}`} />
        <text className={styles.name} x="12" y={headHeight / 2 + 4.5}>
          {fitting(table.name, 26)}
        </text>
        <text className={styles.access} x={boxWidth - 12} y={headHeight / 2 + 4}>
          {table.kind === 'view' ? 'view' : table.isPublic ? '' : 'private'}
        </text>
        {shown.map((column, at) => {
          const line = headHeight + at * rowHeight + 15.5;
          const isKey = column.name === table.primaryKey;
          return (
            <g key={column.name}>
              <text className={classes(styles.column, isKey && styles.key)} x="12" y={line}>
                {fitting(column.name, 18)}
              </text>
              <text className={styles.type} x={boxWidth - 12} y={line}>
                {fitting(typeName(column.type), 12)}
              </text>
            </g>
          );
        })}
        {hidden > 0 && (
          <text className={styles.type} x={boxWidth - 12} y={height - 12}>
            {hidden} more
          </text>
        )}
      </g>
    </a>
  );
}

function fitting(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters - 1)}…`;
}

/** The part of the drawing in view, and how large it is drawn. */
interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

const [scaleMin, scaleMax] = [0.1, 2.5];
/** Around all of it; the buttons stand in it. */
const margin = 44;
const step = 60;

interface CanvasProps {
  readonly width: number;
  readonly height: number;
  readonly children: ReactNode;
}

/** A drawing that is moved by dragging or arrows, and scaled by buttons and keys. */
function Canvas({ width, height, children }: CanvasProps) {
  const frame = useRef<HTMLElement>(null);
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });
  const drag = useRef<{ readonly x: number; readonly y: number } | null>(null);
  const showAll = () => setView(fitted(frame.current, width, height));
  useEffect(showAll, [width, height]);
  const zoom = (factor: number) => setView((old) => zoomed(old, factor, frame.current));
  const press = (event: KeyboardEvent) => {
    const move = moves[event.key];
    if (move !== undefined) setView((old) => ({ ...old, x: old.x + move[0], y: old.y + move[1] }));
    else if (event.key === '+' || event.key === '=') zoom(1.25);
    else if (event.key === '-') zoom(0.8);
    else if (event.key === '0') showAll();
    else return;
    event.preventDefault();
  };
  const pull = (event: PointerEvent) => {
    const from = drag.current;
    if (from === null) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    drag.current = { x: event.clientX, y: event.clientY };
    setView((old) => ({ ...old, x: old.x - dx / old.scale, y: old.y - dy / old.scale }));
  };
  return (
    <div className={styles.canvas}>
      <section
        ref={frame}
        className={styles.frameArea}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is moved by keys
        tabIndex={0}
        aria-label="Diagram; arrows move it, plus and minus change its size, 0 shows all of it"
        onKeyDown={press}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, y: event.clientY };
        }}
        onPointerMove={pull}
        onPointerUp={() => {
          drag.current = null;
        }}
        onPointerLeave={() => {
          drag.current = null;
        }}
      >
        <svg className={styles.drawing} aria-hidden={false} role="presentation">
          <g transform={`scale(${view.scale}) translate(${-view.x} ${-view.y})`}>{children}</g>
        </svg>
      </section>
      <div className={styles.tools}>
        <Button size="small" icon="minus" aria-label="Smaller" onClick={() => zoom(0.8)} />
        <Button size="small" icon="plus" aria-label="Larger" onClick={() => zoom(1.25)} />
        <Button size="small" onClick={showAll}>
          Show all
        </Button>
      </div>
    </div>
  );
}

const moves: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-step, 0],
  ArrowRight: [step, 0],
  ArrowUp: [0, -step],
  ArrowDown: [0, step],
};

function fitted(frame: HTMLElement | null, width: number, height: number): View {
  if (frame === null || width === 0) return { x: 0, y: 0, scale: 1 };
  const { clientWidth, clientHeight } = frame;
  const wanted = Math.min(
    (clientWidth - 2 * margin) / width,
    (clientHeight - 2 * margin) / Math.max(1, height),
    1,
  );
  const scale = Math.max(scaleMin, wanted);
  return {
    x: width / 2 - clientWidth / scale / 2,
    y: height / 2 - clientHeight / scale / 2,
    scale,
  };
}

/** Keeps what is in the middle there. */
function zoomed(old: View, factor: number, frame: HTMLElement | null): View {
  const scale = Math.min(scaleMax, Math.max(scaleMin, old.scale * factor));
  const [width, height] = [frame?.clientWidth ?? 0, frame?.clientHeight ?? 0];
  const shift = (size: number) => size / old.scale / 2 - size / scale / 2;
  return { x: old.x + shift(width), y: old.y + shift(height), scale };
}
