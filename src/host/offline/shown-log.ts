import type { Figures } from '../../log/stretch.ts';
import { type FilePart, type LogPart, placesOf } from '../../log/survey.ts';
import { identityToHex } from '../../values/identity.ts';
import type { Examined } from './examined-log.ts';

/** The commits of a log, and what they did. */
export interface ShownFigures {
  readonly commits: number;
  /** `null`: there are no commits. */
  readonly first_offset: number | null;
  readonly last_offset: number | null;
  readonly rows_inserted: number;
  readonly rows_deleted: number;
  /** When the first and the last commit were requested. */
  readonly first_time: string | null;
  readonly last_time: string | null;
}

/** A part of the history, and its place in the files. */
export interface ShownPart extends ShownFigures {
  readonly files: readonly FilePart[];
}

export interface ShownTail extends ShownPart {
  readonly tail: number;
  readonly can_be_kept: boolean;
  /** True when the segments, read in their order, lead to it. */
  readonly is_first: boolean;
}

export interface ShownLog {
  readonly database: string;
  /** The folder of the log. */
  readonly log: string;
  readonly state: Examined['state'];
  /** Why the log is rejected. */
  readonly reason: string | null;
  readonly common?: ShownPart;
  /** False: the histories part at the end of the common part, or before it. */
  readonly parting_known?: boolean;
  readonly tails?: readonly ShownTail[];
  /** Figures of pieces that are not among the tails, because there are too many. */
  readonly rest?: ShownFigures;
  /** The decision made before an interruption. */
  readonly kept?: string;
  readonly set_aside?: string;
}

/** The result of examining a log, as JSON. */
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

/** `null`: no clock shows such a time. */
function timeOf(micros: number): string | null {
  const time = new Date(micros / 1000);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
