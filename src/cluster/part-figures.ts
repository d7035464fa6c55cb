import type { TimeFigures } from '../database/time-counts.ts';
import type { ForwardCount } from './forward-meter.ts';
import type { LineFigures } from './lines.ts';
import type { AppendFigures } from './metered-log.ts';
import type { MoveCause } from './moving.ts';
import type { CopyCount } from './placer.ts';
import type { RoleFigures } from './role-watch.ts';
import type { StreamFigures } from './streamed-log.ts';

/** What a host's part in its cluster has counted since its start. */
export interface ClusterPartFigures {
  readonly appends: AppendFigures;
  readonly roles: RoleFigures;
  readonly forwarded: readonly ForwardCount[];
  readonly forwardTimes: TimeFigures;
  readonly streams: StreamFigures;
  readonly lines: LineFigures;
  /** Databases that were given away, by cause. */
  readonly moves: Readonly<Record<MoveCause, number>>;
  readonly copies: readonly CopyCount[];
}
