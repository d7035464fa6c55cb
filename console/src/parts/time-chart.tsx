import { useEffect, useRef } from 'react';
import UPlot, { type AlignedData, type Options } from 'uplot';
import 'uplot/dist/uPlot.min.css';
import styles from './time-chart.module.css';

/** A line of a chart, and how its values read. */
export interface ChartLine {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Which of the colours of charts. */
  readonly tone: 'first' | 'second' | 'danger';
}

interface TimeChartProps {
  /** What it shows, for those who do not see it; the last values are read with it. */
  readonly label: string;
  /** The times of the values, in seconds since the Unix epoch, rising. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly textOf: (value: number) => string;
  /** How far back it reaches from the last time, in seconds, however few values there are. */
  readonly seconds: number;
}

const height = 150;

/** Values over time. It follows the width of where it stands, and the colours of the system. */
export function TimeChart({ label, times, lines, textOf, seconds }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const reader = useRef(textOf);
  reader.current = textOf;
  const names = lines.map((line) => `${line.tone} ${line.label}`).join('\n');
  const data = [times, ...lines.map(({ values }) => values)] as AlignedData;
  const shown = useRef(data);
  shown.current = data;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const draw = () => {
      plot.current?.destroy();
      const read = (value: number) => reader.current(value);
      const options = optionsOf(element, names.split('\n'), { textOf: read, seconds });
      plot.current = new UPlot(options, shown.current, element);
    };
    draw();
    const resized = new ResizeObserver(() => {
      plot.current?.setSize({ width: element.clientWidth, height });
    });
    resized.observe(element);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names, seconds]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lines belong to these times
  useEffect(() => plot.current?.setData(shown.current), [times, lines]);
  return (
    <figure className={styles.chart} aria-label={spoken(label, lines, textOf)} role="img">
      <div ref={place} aria-hidden="true" />
    </figure>
  );
}

/** `Calls: all 12, failed 0`. */
function spoken(
  label: string,
  lines: readonly ChartLine[],
  textOf: (value: number) => string,
): string {
  const last = lines.map(({ label: name, values }) => {
    const value = values.findLast((one) => one !== null);
    return `${name} ${value === undefined || value === null ? 'unknown' : textOf(value)}`;
  });
  return `${label}: ${last.join(', ')}`;
}

function optionsOf(
  element: HTMLElement,
  names: readonly string[],
  { textOf, seconds }: Pick<TimeChartProps, 'textOf' | 'seconds'>,
): Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--text-faint'),
    grid: { stroke: colour('--border'), width: 1 },
    ticks: { show: false },
    font: `11px ${colour('--font')}`,
  };
  const tones: Readonly<Record<string, string>> = {
    first: colour('--accent'),
    second: colour('--value-special'),
    danger: colour('--danger'),
  };
  return {
    width: element.clientWidth || 300,
    height,
    padding: [8, 18, 0, 0],
    cursor: { points: { size: 7 }, drag: { x: false, y: false } },
    legend: { live: true },
    scales: {
      x: { range: (_plot, _low, high) => [(high ?? 0) - seconds, high ?? 0] },
      y: { range: (_plot, low, high) => [Math.min(0, low ?? 0), topOf(high)] },
    },
    axes: [
      {
        ...axis,
        size: 30,
        values: (_plot, marks) => marks.map((mark) => minute.format(mark * 1_000)),
      },
      { ...axis, size: 64, space: 34, values: (_plot, marks) => marks.map((mark) => textOf(mark)) },
    ],
    series: [
      {
        label: 'Time',
        value: (plot, at) => {
          const time = at ?? lastOf(plot.data[0]);
          return time === null ? '–' : clock.format(time * 1_000);
        },
      },
      ...names.map((name) => {
        const [tone = 'first', ...label] = name.split(' ');
        return {
          label: label.join(' '),
          stroke: tones[tone] ?? '',
          width: 1.5,
          points: { show: isSparse, size: 5 },
          value: (plot: UPlot, value: number | null, at: number, index: number | null) => {
            // Without a pointer over the chart: what is so now.
            const shown = index === null ? lastOf(plot.data[at]) : value;
            return shown === null ? '–' : textOf(shown);
          },
        };
      }),
    ],
  };
}

/** Fewer values than this are drawn as points too: a line of one value is not seen. */
const sparseMax = 12;

function isSparse(plot: UPlot, at: number): boolean {
  const there = Array.from(plot.data[at] ?? []).filter((value) => typeof value === 'number');
  return there.length <= sparseMax;
}

function lastOf(values: ArrayLike<number | null | undefined> | undefined): number | null {
  return Array.from(values ?? []).findLast((value) => typeof value === 'number') ?? null;
}

const minute = new Intl.DateTimeFormat('en', { timeStyle: 'short', hourCycle: 'h23' });
const clock = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' });

/** Room above the highest value; a line of zeros lies on the ground. */
function topOf(high: number | null): number {
  return high === null || high <= 0 ? 1 : high * 1.1;
}
