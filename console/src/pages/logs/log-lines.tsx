import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect } from 'react';
import { classes } from '../../parts/classes.ts';
import { Copy } from '../../parts/copy.tsx';
import { localTime } from '../../parts/times.ts';
import { Place, Trace } from '../../parts/trace.tsx';
import type { LogLine } from '../../service/logs.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { Link, pageAddress } from '../../shell/router.tsx';
import styles from './logs.module.css';

interface LogLinesProps {
  readonly lines: readonly LogLine[];
  readonly scroller: HTMLElement | null;
  /** Keeps the newest line in view. */
  readonly isAtEnd: boolean;
  readonly onOpen: ((place: string) => void) | undefined;
}

/** Lines of a log; only those in view are in the page. */
export function LogLines({ lines, scroller, isAtEnd, onOpen }: LogLinesProps) {
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller,
    estimateSize: () => 28,
    getItemKey: (at) => lines[at]?.id ?? at,
    overscan: 12,
  });
  const height = virtual.getTotalSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines move the end
  useEffect(() => {
    if (isAtEnd && scroller !== null) scroller.scrollTop = scroller.scrollHeight;
  }, [lines, height, isAtEnd, scroller]);
  return (
    <ol className={styles.lines} style={{ height }}>
      {virtual.getVirtualItems().map(({ key, index, start }) => {
        const line = lines[index];
        if (line === undefined) return null;
        return (
          <li
            key={key}
            data-index={index}
            ref={virtual.measureElement}
            className={classes(styles.line, styles[line.level])}
            style={{ transform: `translateY(${start}px)` }}
            aria-setsize={lines.length}
            aria-posinset={index + 1}
          >
            <Line of={line} onOpen={onOpen} />
          </li>
        );
      })}
    </ol>
  );
}

function Line(props: { readonly of: LogLine; onOpen: ((place: string) => void) | undefined }) {
  const { of, onOpen } = props;
  const { database } = useDatabase();
  const utc = new Date(of.millis);
  const title = Number.isNaN(utc.getTime()) ? undefined : `${utc.toISOString()} UTC`;
  return (
    <>
      <time className={styles.time} title={title}>
        {localTime(of.millis)}
      </time>
      <span className={styles.level}>{of.level}</span>
      <span className={styles.function}>
        {of.isOfHost ? (
          <span className={styles.host}>service</span>
        ) : (
          <Link to={pageAddress(database, 'functions', { f: of.function })}>{of.function}</Link>
        )}
      </span>
      <div className={styles.message}>
        <span>{of.message}</span>
        {of.trace.length > 0 && <Trace frames={of.trace} onOpen={onOpen} />}
      </div>
      <span className={styles.place}>
        <Place place={of.place} onOpen={onOpen} />
      </span>
      <span className={styles.copy}>
        <Copy text={of.text} what="line as JSON" />
      </span>
    </>
  );
}
