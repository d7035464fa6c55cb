import type { Memory } from './besieged.ts';
import type { LoadReport, SiegeReport } from './siege.ts';

/** A report as people read it. */
export function siegeTable(report: SiegeReport): string {
  const { outcomes, figures, memory, missing, missingAfterKill } = report;
  const rows = outcomes.map(({ name, tries, counts }) => {
    const said = [...counts].sort(([, one], [, other]) => other - one);
    const text = said.map(([outcome, count]) => `${outcome} x${count}`).join(', ');
    return `  ${name.padEnd(34)} ${String(tries).padStart(7)}  ${text}`;
  });
  const delay =
    figures === undefined
      ? 'not known'
      : `p99.9 ${figures.delayMillis.p999.toFixed(1)} ms, max ${figures.delayMillis.max.toFixed(0)} ms`;
  const found = report.acknowledged - new Set([...missing, ...missingAfterKill]).size;
  return [
    `siege, isolation ${report.isolation}`,
    `  ${'attacker'.padEnd(34)} ${'tries'.padStart(7)}  outcomes`,
    ...rows,
    `  alone:       ${loadText(report.alone)}`,
    `  under siege: ${loadText(report.besieged)}`,
    `  afterwards:  ${loadText(report.after)}`,
    `  delay of the gateway's event loop: ${delay}`,
    `  gateway ${report.gatewayEnd ?? 'never ended'}; databases restarted: ${report.restarts}`,
    `  rows acknowledged ${report.acknowledged}, found ${found}`,
    `  memory at begin: ${memoryText(memory.begin)}`,
    `  memory at peak:  ${memoryText(memory.peak)}`,
    `  memory at end:   ${memoryText(memory.end)}`,
  ].join('\n');
}

function loadText({ calls, p50, p99, max, ping, failures }: LoadReport): string {
  const millis = (value: number) => `${value.toFixed(1)} ms`;
  const failed = Object.entries(failures).map(([text, count]) => `${count} x ${text}`);
  const spread = `p50 ${millis(p50)}, p99 ${millis(p99)}, max ${millis(max)}`;
  const pings = `ping p99 ${millis(ping.p99)}`;
  return `${calls} calls, ${spread}; ${pings}; failed: ${failed.join(', ') || 'none'}`;
}

function memoryText({ gatewayMebibytes, childrenMebibytes, childCount }: Memory): string {
  return `gateway ${gatewayMebibytes} MiB, ${childCount} children ${childrenMebibytes} MiB`;
}
