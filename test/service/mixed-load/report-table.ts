import { type Part, partCount, percentile } from './figures.ts';
import type { MixedLoadReport } from './mixed-load.ts';

const mebibyte = 1024 * 1024;

/** A report as people read it. */
export function mixedLoadTable(report: MixedLoadReport): string {
  const { levels, perSecond, seconds, parts, verdict, settled, arrivals } = report;
  const measured = levels.map(([inFlight, answered]) => `${inFlight}: ${Math.round(answered)}`);
  const drifts = Object.entries(verdict.drift).map(
    ([name, bytes]) => `${name} ${bytes < 0 ? '' : '+'}${(bytes / mebibyte).toFixed(2)}`,
  );
  const { p99Start, p99End } = verdict;
  const changes = settled.changes.reduce((sum, count) => sum + count, 0);
  return [
    `mixed load: ${Math.round(perSecond)} arrivals/s for ${seconds} s, ${arrivals.kinds.length} in all`,
    `  processors taken: service ${(report.cpuSeconds / seconds).toFixed(2)}, clients ` +
      `${(arrivals.cpuSeconds / seconds).toFixed(2)}`,
    `  answers/s by requests in flight: ${measured.join(', ') || 'not measured'}`,
    ...partLines(parts, seconds),
    ...kindLines(report),
    `  p99 at the start ${p99Start.toFixed(2)} ms, at the end ${p99End.toFixed(2)} ms: ` +
      `${(p99End / p99Start).toFixed(2)} times`,
    `  furthest from the beginning after two tenths, MiB: ${drifts.join(', ')}`,
    `  acknowledged: ${changes} changes, of which watchers were told ${settled.told} times, ` +
      `and ${settled.entries.length} entries that stay`,
    `  differences ${settled.differences.length}, missing ${report.missing.length}, after a kill ` +
      `${report.missingAfterKill.length}; failures ${JSON.stringify(settled.failures)}`,
  ].join('\n');
}

function partLines(parts: readonly Part[], seconds: number): string[] {
  const head = [
    ...['from', 'answers/s', 'p50 ms', 'p99 ms', 'late ms'],
    ...['gateway', 'databases', 'buffers', 'rows', 'indexes', 'log', 'resident', 'conns'],
  ];
  const lines = parts.map(({ count, p50, p99, late99, memory }, part) => {
    const mebibytes = (bytes: number | undefined) =>
      bytes === undefined ? '-' : (bytes / mebibyte).toFixed(1);
    const partSeconds = seconds / partCount;
    return [
      `${(part * partSeconds).toFixed(0)} s`,
      (count / partSeconds).toFixed(0),
      ...[p50, p99, late99].map((millis) => millis.toFixed(2)),
      mebibytes(memory?.gatewayBytes),
      mebibytes(memory?.databaseBytes),
      mebibytes(memory?.bufferBytes),
      mebibytes(memory?.rowBytes),
      mebibytes(memory?.indexBytes),
      mebibytes(memory?.logBytes),
      mebibytes(memory?.residentBytes),
      String(memory?.connections ?? '-'),
    ];
  });
  return [head, ...lines].map((cells) => `  ${cells.map((cell) => cell.padStart(9)).join(' ')}`);
}

/** Each operation over the whole run, and in its first and last fifth. */
function kindLines({ arrivals, seconds }: MixedLoadReport): string[] {
  const head = ['operation', 'count', 'p50 ms', 'p99 ms', 'p99 start', 'p99 end'];
  const lines = arrivals.names.map((name, kind) => {
    const waits = (from: number, to: number) => waitsOf(arrivals, kind, { from, to });
    const all = waits(0, seconds);
    const ends = [waits(0, seconds / 5), waits((seconds * 4) / 5, seconds)];
    const figures = [
      percentile(all, 0.5),
      ...[all, ...ends].map((sorted) => percentile(sorted, 0.99)),
    ];
    return [name, String(all.length), ...figures.map((millis) => millis.toFixed(2))];
  });
  return [head, ...lines].map(
    ([name = '', ...cells]) =>
      `  ${name.padEnd(25)} ${cells.map((cell) => cell.padStart(9)).join(' ')}`,
  );
}

function waitsOf(
  { kinds, seconds, millis }: MixedLoadReport['arrivals'],
  wanted: number,
  { from, to }: { readonly from: number; readonly to: number },
): Float64Array {
  const waits: number[] = [];
  for (const [at, kind] of kinds.entries()) {
    const second = seconds[at] ?? 0;
    if (kind === wanted && second >= from && second < to) waits.push(millis[at] ?? 0);
  }
  return Float64Array.from(waits).sort();
}
