import { bytesText } from '../values/bytes-text.ts';
import {
  boolean,
  list,
  number,
  object,
  optional,
  type Shaped,
  string,
} from '../values/json-shape.ts';
import { countText } from './count-text.ts';

/** What a job says that has deleted history. */
export const forgotten = object({
  /** False: nothing that old was there. */
  forgotten: boolean,
  begins_at: number,
  files: number,
  held: list(object({ by: string, fromOffset: number, bytes: number })),
  /** Logs that restores in place had replaced. */
  replaced: optional(number),
});

/** The same for people. */
export function forgottenText(database: string, result: Shaped<typeof forgotten>): string {
  const { forgotten: isNew, begins_at: begin, files, held, replaced = 0 } = result;
  const logs = `${countText(replaced, 'log')} that a restore had replaced`;
  const gone = replaced === 0 ? [] : [`${logs} ${replaced === 1 ? 'was' : 'were'} deleted.`];
  if (!isNew) {
    const begins = `the history of ${database} begins at ${begin}`;
    if (replaced === 0) return `Nothing that old is there: ${begins}.`;
    return [...gone, `Nothing else that old is there: ${begins}.`, ...keptElsewhere].join('\n');
  }
  const lines = held.map(({ by, fromOffset, bytes }) => {
    return `Still held by ${by}: commits from ${fromOffset}, ${bytesText(bytes)}.`;
  });
  return [
    `The history of ${database} begins at commit ${begin} now; ${files} files were deleted.`,
    ...gone,
    ...lines,
    ...keptElsewhere,
  ].join('\n');
}

const keptElsewhere = [
  'Backups, archives, copies and forks made before still have what was deleted, and the disk is ' +
    'not wiped.',
];
