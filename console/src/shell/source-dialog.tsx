import { useEffect, useRef } from 'react';
import { classes } from '../parts/classes.ts';
import { Dialog } from '../parts/dialog.tsx';
import { WhenLoaded } from '../parts/state.tsx';
import { useLoad } from '../service/load.ts';
import { placeOf, readSourceFile, type SourcePart } from '../service/source.ts';
import { useDatabase } from './database-context.tsx';
import { useParam } from './router.tsx';
import styles from './source-dialog.module.css';

/**
 * Opens a place of the module's source, such as `src/index.ts:16`, which then is in the address;
 * `undefined`: the caller may not see the source.
 */
export function useOpenSource(): ((place: string) => void) | undefined {
  const { whyNot } = useDatabase();
  const [, setPlace] = useParam('source', '', 'step');
  return whyNot('view_source') === false ? setPlace : undefined;
}

/** The file of the place in the address, with its line marked; nothing without one. */
export function SourceDialog() {
  const { database } = useDatabase();
  const [place, setPlace] = useParam('source', '', 'step');
  const { file, line } = placeOf(place) ?? { file: place, line: 0 };
  const key = place === '' ? null : `${database}\n${file}`;
  const part = useLoad(key, (signal) => readSourceFile(database, file, signal));
  if (place === '') return null;
  return (
    <Dialog
      title={line === 0 ? file : `${file}, line ${line}`}
      form="wide"
      onClose={() => setPlace('')}
    >
      <WhenLoaded of={part}>{(value) => <Lines of={value} marked={line} />}</WhenLoaded>
    </Dialog>
  );
}

function Lines({ of, marked }: { readonly of: SourcePart; readonly marked: number }) {
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    element.current?.scrollIntoView({ block: 'center' });
  }, []);
  return (
    <ol className={styles.lines}>
      {of.lines.map((text, at) => {
        const number = of.first + at;
        const isMarked = number === marked;
        return (
          <li
            key={number}
            ref={isMarked ? element : null}
            className={classes(isMarked && styles.marked)}
            aria-current={isMarked ? 'location' : undefined}
          >
            <span className={styles.number}>{number}</span>
            <code>{text}</code>
          </li>
        );
      })}
    </ol>
  );
}
