import { Counter, Gauge, type Metric, type Registry } from 'prom-client';
import { type TimeFigures, timeBoundsMillis } from '../database/time-counts.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Instrument {
  readonly name: string;
  readonly help: string;
}

/** Sets a value. By convention, a metric named `…_total` only grows, and is a counter. */
export function instrument(
  registry: Registry,
  { name, help }: Instrument,
  labelNames: readonly string[],
): (labels: Labels, value: number) => void {
  const given = { name, help, labelNames, registers: [registry] };
  if (name.endsWith('_total')) {
    const counter = new Counter(given);
    return (labels, value) => counter.inc(labels, value);
  }
  const gauge = new Gauge(given);
  return (labels, value) => gauge.set(labels, value);
}

interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** Name of the series, if it differs from the metric's. */
  readonly metricName?: string;
}

/** Adds a metric with samples computed on each scrape; the library only observes single values. */
export function derived(
  registry: Registry,
  { name, help }: Instrument,
  type: 'histogram' | 'summary',
  samples: () => readonly Sample[],
): void {
  const get = () => Promise.resolve({ name, help, type, aggregator: 'sum', values: samples() });
  // A registry uses only the name and `get` of a metric.
  registry.registerMetric({ name, help, type, get } as unknown as Metric<string>);
}

/** Adds a histogram, in seconds, of durations that were counted elsewhere. */
export function histogram(
  registry: Registry,
  { name, help }: Instrument,
  series: readonly { readonly labels: Labels; readonly times: TimeFigures }[],
): void {
  derived(registry, { name, help }, 'histogram', () => {
    return series.flatMap(({ labels, times }) => samplesOf(name, labels, times));
  });
}

function samplesOf(name: string, labels: Labels, times: TimeFigures): Sample[] {
  let count = 0;
  const upTo = (le: string, more: number): Sample => {
    count += more;
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
  };
  const longest = timeBoundsMillis.length;
  const buckets = timeBoundsMillis.map((millis, at) => upTo(`${millis / 1_000}`, times[at] ?? 0));
  buckets.push(upTo('+Inf', times[longest] ?? 0));
  const sum = (times[longest + 1] ?? 0) / 1_000;
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
