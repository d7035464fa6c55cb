import type { LiveCounters } from '../../live/live-queries.ts';

/** The live queries of a database and its long reads, for metrics. */
export interface LiveFigures extends Readonly<LiveCounters> {
  /** Distinct queries. */
  readonly queries: number;
  readonly bytes: number;
  /** Reads of first rows and long statements that run in slices. */
  readonly pausedReads: number;
  /** Bytes kept for them because rows that they see have since been deleted. */
  readonly heldBytes: number;
}

export const noLiveFigures: LiveFigures = {
  ...{ queries: 0, bytes: 0, pausedReads: 0, heldBytes: 0 },
  ...{ commits: 0, evaluations: 0, scans: 0, reruns: 0 },
};
