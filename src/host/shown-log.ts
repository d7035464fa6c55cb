import type { Figures } from '../log/stretch.ts';
import { type FilePart, type LogPart, placesOf } from '../log/survey.ts';
import { identityToHex } from '../values/identity.ts';
import type { Examined } from './examined-log.ts';

/** Commits of a log, and what they did. */
export interface ShownFigures {
  readonly commits: number;
  /** `null`: there is no commit. */
  readonly first_offset: number | null;
  readonly last_offset: number | null;
  readonly rows_inserted: number;
  readonly rows_deleted: number;
  /** When the first and the last commit were asked for. */
  readonly first_time: string | null;
  readonly last_time: string | null;
}

/** A part of the history, and where in the files it is. */
export interface ShownPart extends ShownFigures {
  readonly files: readonly FilePart[];
}

export interface ShownTail extends ShownPart {
  readonly tail: number;
  readonly can_be_kept: boolean;
  /** The segments, read in their order, lead to it. */
  readonly is_first: boolean;
}

export interface ShownLog {
  readonly database: string;
  /** The folder of the log. */
  readonly log: string;
  readonly state: Examined['state'];
  /** Why it is refused. */
  readonly reason: string | null;
  readonly common?: ShownPart;
  /** False: the histories part at the end of the common part, or before it. */
  readonly parting_known?: boolean;
  readonly tails?: readonly ShownTail[];
  /** Of pieces that are none of the tails, because there are too many. */
  readonly rest?: ShownFigures;
  /** What was decided before an interruption. */
  readonly kept?: string;
  readonly set_aside?: string;
}

/** What was found in a log, as JSON. */
export function shownLog(examined: Examined): ShownLog {
  const { identity, directory, state } = examined;
  const base = { database: identityToHex(identity), log: directory, state };
  if (examined.state === 'interrupted') {
    const { kept, aside } = examined.plan;
    return { ...base, reason: 'its repair was interrupted', kept, set_aside: aside };
  }
  const { survey, reason = null } = examined;
  return {
    ...base,
    reason,
    common: shownPart(survey.common),
    parting_known: survey.isPartingKnown,
    tails: survey.tails.map((tail, index) => ({
      tail: tail.number,
      can_be_kept: tail.isWhole,
      is_first: tail.isWhole && index === 0,
      ...shownPart(tail),
    })),
    rest: shownFigures(survey.rest),
  };
}

function shownPart(part: LogPart): ShownPart {
  return { ...shownFigures(part.figures), files: placesOf(part) };
}

function shownFigures(figures: Figures): ShownFigures {
  const { commits, firstOffset, lastOffset, rowsInserted, rowsDeleted } = figures;
  const isThere = commits > 0;
  return {
    commits,
    first_offset: isThere ? firstOffset : null,
    last_offset: isThere ? lastOffset : null,
    rows_inserted: rowsInserted,
    rows_deleted: rowsDeleted,
    first_time: isThere ? timeOf(figures.firstMicros) : null,
    last_time: isThere ? timeOf(figures.lastMicros) : null,
  };
}

/** `null`: it is no time that a clock shows. */
function timeOf(micros: number): string | null {
  const time = new Date(micros / 1000);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
