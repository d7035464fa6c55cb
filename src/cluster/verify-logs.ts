import type { SharedLogFault, SharedLogReport } from '../shared-log/verify-log.ts';

/** A host's copy, as far as it is compared with the log. */
export interface ComparedCopy {
  readonly host: string;
  readonly role: 'opening' | 'follower' | 'leader' | 'broken';
  readonly offset: number;
  readonly acknowledged: number;
  /** False if both say nothing. */
  readonly known: boolean;
}

export interface AdvisedFault extends SharedLogFault {
  /** What to do. */
  readonly advice: string;
}

/**
 * What is wrong with the log of a database, and what to do; `copies` are older than the report, so
 * that what they have must be in the log. `shown`: how commands name the database.
 */
export function advisedFaults(
  shown: string,
  report: SharedLogReport,
  copies: readonly ComparedCopy[],
): readonly AdvisedFault[] {
  const faults = [...report.faults];
  const isWhole = !faults.some(({ kind }) => breaking.has(kind));
  const ahead = isWhole ? bestOf(copies) : undefined;
  if (ahead !== undefined && ahead.acknowledged > report.offset) {
    const reason = `${ahead.host} has commits up to ${ahead.acknowledged} that were acknowledged`;
    const { first, entryCount: count, offset } = report;
    faults.push({ kind: 'behind', seq: first + count, offset, reason });
  }
  for (const { host } of copies.filter(({ known, role }) => !known && role === 'broken')) {
    const reason = `the copy of ${host} is broken, and which commits it has is not known`;
    const { first, entryCount: count, offset } = report;
    faults.push({ kind: 'uncompared', seq: first + count, offset, reason });
  }
  return faults.map((fault) => ({ ...fault, advice: adviceOn(fault, shown, copies) }));
}

/** Nothing behind these can be read. */
const breaking: ReadonlySet<SharedLogFault['kind']> = new Set([
  'absent',
  'missing',
  'damaged',
  'later',
]);

function adviceOn(
  { kind }: SharedLogFault,
  shown: string,
  copies: readonly ComparedCopy[],
): string {
  switch (kind) {
    case 'later':
      return 'Run the version that wrote it, or a later one, on all hosts.';
    case 'snapshot':
    case 'uncovered':
      return `Take another: reducerdb snapshot ${shown}. Its leader stores it within a minute.`;
    case 'uncompared':
      return 'It opens it again and again; if the log has no other fault, wait, and see its log.';
    case 'unsettled':
      return 'See reducerdb cluster status for the engine, and try again.';
    default: {
      const best = bestOf(copies);
      const unknown = copies.filter(({ known }) => !known).map(({ host }) => host);
      if (unknown.length > 0) return unknownText(shown, unknown, best);
      if (best === undefined) return noCopyText;
      const command = `reducerdb cluster repair ${shown} --from ${best.host}`;
      return `${best.host} has commits up to ${best.offset}: ${command}`;
    }
  }
}

/** None of them is said to have less than another. */
function unknownText(
  shown: string,
  hosts: readonly string[],
  best: ComparedCopy | undefined,
): string {
  const has = best === undefined ? '' : `${best.host} has commits up to ${best.offset}. `;
  return (
    `${has}Which commits the copies of ${hosts.join(', ')} have is not known since they started. ` +
    'Stop all hosts with such a copy but the one that has most of it, and then: ' +
    `reducerdb cluster repair ${shown} --from <host>`
  );
}

const noCopyText =
  'No host that answers has a copy. Start those that had one, or restore the engine from a backup.';

/** Who has most of what was acknowledged. */
function bestOf(copies: readonly ComparedCopy[]): ComparedCopy | undefined {
  return [...copies]
    .filter(({ known, offset }) => known && offset > 0)
    .sort((one, other) => other.acknowledged - one.acknowledged || other.offset - one.offset)[0];
}
