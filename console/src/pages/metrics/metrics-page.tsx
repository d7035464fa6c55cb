import { bytesText, countText } from '../../parts/numbers.ts';
import { PageFrame, Panel } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { type ChartLine, TimeChart } from '../../parts/time-chart.tsx';
import { useLoad } from '../../service/load.ts';
import { type Hour, readMetrics } from '../../service/metrics.ts';
import type { PageProps } from '../../shell/page-entry.ts';
import { MemoryOfTables } from './memory-of-tables.tsx';
import styles from './metrics.module.css';

/** The service measures a step of 5 s. */
const everyMillis = 5_000;

/** An hour of a database, or of the whole service, as the service keeps it. */
export function Page({ database }: PageProps) {
  const of = database === '' ? null : database;
  const hour = useLoad(`metrics ${database}`, (signal) => readMetrics(of, signal), { everyMillis });
  return (
    <PageFrame
      title="Metrics"
      about={
        of === null
          ? 'The last hour of the whole service, every 5 seconds.'
          : 'The last hour of this database, every 5 seconds.'
      }
    >
      <WhenLoaded of={hour}>
        {(shown) => <Charts hour={shown} isService={of === null} />}
      </WhenLoaded>
    </PageFrame>
  );
}

interface Chart {
  readonly title: string;
  readonly lines: readonly (Omit<ChartLine, 'values'> & { readonly series: string })[];
  readonly textOf: (value: number) => string;
  /** Of the service alone, or of databases alone. */
  readonly only?: 'service' | 'database';
}

const millisText = (millis: number) =>
  millis >= 1_000 ? `${(millis / 1_000).toFixed(1)} s` : `${Number(millis.toPrecision(3))} ms`;
const numberText = (value: number) => countText(Math.round(value * 10) / 10);

const charts: readonly Chart[] = [
  {
    title: 'Calls per second',
    lines: [
      { series: 'calls', label: 'all', tone: 'first' },
      { series: 'calls_failed', label: 'failed', tone: 'danger' },
    ],
    textOf: numberText,
  },
  {
    title: 'Latency of calls',
    lines: [
      { series: 'latency_p50_ms', label: 'p50', tone: 'first' },
      { series: 'latency_p99_ms', label: 'p99', tone: 'second' },
    ],
    textOf: millisText,
  },
  {
    title: 'Commits per second',
    lines: [{ series: 'commits', label: 'commits', tone: 'first' }],
    textOf: numberText,
  },
  {
    title: 'Syncs to disk',
    lines: [{ series: 'fsync_p99_ms', label: 'p99', tone: 'first' }],
    textOf: millisText,
  },
  {
    title: 'Fan-out lag',
    lines: [{ series: 'fanout_lag_ms', label: 'oldest update not sent', tone: 'first' }],
    textOf: millisText,
  },
  {
    title: 'Connections',
    lines: [{ series: 'connections', label: 'connected', tone: 'first' }],
    textOf: numberText,
  },
  {
    title: 'Memory',
    lines: [{ series: 'memory_bytes', label: 'in use', tone: 'first' }],
    textOf: bytesText,
  },
  {
    title: 'On disk',
    lines: [
      { series: 'log_bytes', label: 'log', tone: 'first' },
      { series: 'snapshot_bytes', label: 'snapshot', tone: 'second' },
    ],
    textOf: bytesText,
    only: 'database',
  },
  {
    title: 'Event-loop delay',
    lines: [{ series: 'event_loop_delay_ms', label: 'p99', tone: 'first' }],
    textOf: millisText,
    only: 'service',
  },
];

/** Series that are counts in a step, and are shown for a second. */
const counted = new Set(['calls', 'calls_failed', 'commits']);

function Charts({ hour, isService }: { readonly hour: Hour; readonly isService: boolean }) {
  const times = timesOf(hour);
  const other = isService ? 'database' : 'service';
  if (times.length === 0) {
    return (
      <Panel>
        <Empty icon="chart" title="Nothing was measured yet">
          The first figures are there five seconds after the database was opened.
        </Empty>
      </Panel>
    );
  }
  return (
    <>
      <div className={styles.charts}>
        {charts
          .filter(({ only }) => only !== other)
          .map(({ title, lines, textOf }) => (
            <Panel key={title} title={title}>
              <TimeChart
                label={title}
                times={times}
                textOf={textOf}
                seconds={3_600}
                lines={lines.map(({ series, ...line }) => ({
                  ...line,
                  values: valuesOf(hour, series),
                }))}
              />
            </Panel>
          ))}
      </div>
      {!isService && <MemoryOfTables tables={hour.tables} />}
    </>
  );
}

/** When each step ended, in seconds. */
function timesOf({ series, stepSeconds, endMillis }: Hour): readonly number[] {
  const count = Math.max(0, ...Object.values(series).map((values) => values.length));
  return Array.from({ length: count }, (_, at) => {
    return endMillis / 1_000 - (count - 1 - at) * stepSeconds;
  });
}

function valuesOf({ series, stepSeconds }: Hour, name: string): readonly (number | null)[] {
  const values = series[name] ?? [];
  if (!counted.has(name)) return values;
  return values.map((value) => (value === null ? null : value / stepSeconds));
}
