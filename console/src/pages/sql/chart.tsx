import { useEffect, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { Field, Select } from '../../parts/field.tsx';
import { Empty } from '../../parts/state.tsx';
import { localTime } from '../../parts/times.ts';
import { microsOf, shownValue, variantOf } from '../../parts/values.ts';
import type { Json } from '../../service/json.ts';
import type { SqlResult } from '../../service/sql.ts';
import type { Field as Column, ValueType } from '../../service/types.ts';
import styles from './sql.module.css';

type Form = 'line' | 'bar';

/** A result as lines or bars: one column along, another one up. */
export function Chart({ result }: { readonly result: SqlResult }) {
  const numeric = result.columns.filter(({ type }) => isNumeric(type));
  const [along, setAlong] = useState('');
  const [up, setUp] = useState('');
  const [chosen, setForm] = useState<Form | null>(null);
  const last = numeric.find(({ name }) => name === up) ?? numeric.at(-1);
  const first = numeric.find(({ name }) => name === along);
  const isNamed = first === undefined && namesOf(result) !== null;
  const form = chosen ?? (isNamed ? 'bar' : 'line');
  if (last === undefined) {
    return (
      <Empty icon="chart" title="No column of numbers">
        A chart needs a column of numbers, times or durations.
      </Empty>
    );
  }
  return (
    <div className={styles.chart}>
      <div className={styles.choices}>
        <ColumnSelect
          label="X axis"
          columns={numeric}
          value={first?.name ?? ''}
          nothing="number of the row"
          onChange={setAlong}
        />
        <ColumnSelect label="Y axis" columns={numeric} value={last.name} onChange={setUp} />
        <Field label="Form">
          {(control) => (
            <Select
              {...control}
              value={form}
              onChange={(event) => setForm(event.target.value as Form)}
            >
              <option value="line">Line</option>
              <option value="bar">Bars</option>
            </Select>
          )}
        </Field>
      </div>
      <Plot result={result} along={first} up={last} form={form} />
    </div>
  );
}

interface ColumnSelectProps {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly value: string;
  readonly nothing?: string;
  readonly onChange: (name: string) => void;
}

function ColumnSelect({ label, columns, value, nothing, onChange }: ColumnSelectProps) {
  return (
    <Field label={label}>
      {(control) => (
        <Select {...control} value={value} onChange={(event) => onChange(event.target.value)}>
          {nothing !== undefined && <option value="">{nothing}</option>}
          {columns.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
      )}
    </Field>
  );
}

interface PlotProps {
  readonly result: SqlResult;
  readonly along: Column | undefined;
  readonly up: Column;
  readonly form: Form;
}

function Plot({ result, along, up, form }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const data = useMemo(() => pointsOf(result, along, up), [result, along, up]);
  const isTime = along?.type.kind === 'timestamp';
  useEffect(() => {
    const host = place.current;
    if (host === null) return;
    const style = getComputedStyle(host);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour('--text-faint'), grid: { stroke: colour('--border'), width: 1 } };
    const ofTime = { ...axis, values: (_: uPlot, ticks: number[]) => ticks.map(timeText(ticks)) };
    const names = along === undefined ? namesOf(result) : null;
    const ofRows = {
      ...axis,
      // Rows are whole numbers; where a column has texts, they say which row it is.
      incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000],
      values: (_: uPlot, ticks: number[]) => ticks.map((tick) => names?.[tick - 1] ?? String(tick)),
    };
    const bars = uPlot.paths.bars?.({ size: [0.7, 80] });
    const plot = new uPlot(
      {
        width: host.clientWidth,
        height: Math.max(180, host.clientHeight - 30),
        scales: { x: { time: isTime } },
        axes: [isTime ? ofTime : along === undefined ? ofRows : axis, { ...axis, size: 64 }],
        series: [
          { label: along?.name ?? 'row' },
          {
            label: up.name,
            stroke: colour('--accent'),
            fill: `${colour('--accent')}${form === 'bar' ? '99' : '18'}`,
            width: 2,
            points: { show: data[0].length < 60 },
            ...(form === 'bar' && bars !== undefined ? { paths: bars } : {}),
          },
        ],
      },
      data,
      host,
    );
    const resized = new ResizeObserver(() => {
      plot.setSize({ width: host.clientWidth, height: Math.max(180, host.clientHeight - 30) });
    });
    resized.observe(host);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [data, form, isTime, along, up, result]);
  const words = `${up.name} by ${along?.name ?? 'row'}, ${data[0].length} points`;
  return <div ref={place} className={styles.canvas} role="img" aria-label={words} />;
}

/** As many rows as have room for their texts below an axis. */
const namedRowsMax = 40;
const nameCharactersMax = 14;

/** The texts of the first column of texts, for a result that is short enough to show them. */
function namesOf({ columns, rows }: SqlResult): readonly string[] | null {
  const at = columns.findIndex(({ type }) => type.kind === 'string' || type.kind === 'sum');
  const type = columns[at]?.type;
  if (type === undefined || rows.length > namedRowsMax) return null;
  return rows.map((row) => {
    const { text } = shownValue(type, row[at]);
    return text.length > nameCharactersMax ? `${text.slice(0, nameCharactersMax - 1)}…` : text;
  });
}

/** As much of a time as tells the marks of an axis apart. */
function timeText(ticks: readonly number[]): (tick: number) => string {
  const span = (ticks.at(-1) ?? 0) - (ticks[0] ?? 0);
  const [from, to] = span > 5 * 86_400 ? [0, 10] : span > 5 * 60 ? [5, 16] : [11, 19];
  return (tick) => localTime(tick * 1_000).slice(from, to);
}

function isNumeric(type: ValueType): boolean {
  const inner = type.kind === 'option' ? type.some() : type;
  return ['integer', 'float', 'timestamp', 'duration'].includes(inner.kind);
}

function pointsOf(
  { columns, rows }: SqlResult,
  along: Column | undefined,
  up: Column,
): [number[], (number | null)[]] {
  const [from, to] = [along === undefined ? -1 : columns.indexOf(along), columns.indexOf(up)];
  const points = rows.map((row, at): [number, number | null] => {
    const x = along === undefined ? at + 1 : numberOf(along.type, row[from]);
    return [x ?? Number.NaN, numberOf(up.type, row[to])];
  });
  const there = points.filter(([x]) => !Number.isNaN(x)).sort(([one], [other]) => one - other);
  return [there.map(([x]) => x), there.map(([, y]) => y)];
}

/** Times in seconds, durations in seconds, everything else as it is. */
function numberOf(type: ValueType, value: Json | undefined): number | null {
  if (value === undefined || value === null) return null;
  if (type.kind === 'option') {
    const [tag, payload] = variantOf(value);
    return tag === 0 ? numberOf(type.some(), payload) : null;
  }
  const isMicros = type.kind === 'timestamp' || type.kind === 'duration';
  return isMicros ? Number(microsOf(value)) / 1_000_000 : Number(value);
}
