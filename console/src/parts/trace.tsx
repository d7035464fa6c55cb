import { placeOf } from '../service/source.ts';
import styles from './trace.module.css';

/** One step of a trace: a function, and where in the source it is. */
export interface Frame {
  readonly function: string;
  /** Such as `src/index.ts:16:34`. */
  readonly place: string;
}

interface TraceProps {
  readonly frames: readonly Frame[];
  /** Opens a place of the source; absent: the caller may not see it. */
  readonly onOpen?: ((place: string) => void) | undefined;
}

/** The trace of an error, with places in the source as its author wrote it. */
export function Trace({ frames, onOpen }: TraceProps) {
  return (
    <ol className={styles.trace}>
      {frames.map((frame, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the steps of a trace never move
        <li key={at}>
          <span className={styles.at}>at </span>
          <span>{frame.function === '' ? '(anonymous)' : frame.function}</span>{' '}
          <Place place={frame.place} onOpen={onOpen} />
        </li>
      ))}
    </ol>
  );
}

interface PlaceProps {
  readonly place: string;
  readonly onOpen?: ((place: string) => void) | undefined;
}

/** A place in the source, which opens it. */
export function Place({ place, onOpen }: PlaceProps) {
  if (place === '') return null;
  if (onOpen === undefined || placeOf(place) === undefined) {
    return <span className={styles.place}>{place}</span>;
  }
  return (
    <button type="button" className={styles.open} onClick={() => onOpen(place)}>
      {place}
    </button>
  );
}
