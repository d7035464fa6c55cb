import { useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { PlainValue } from '../../parts/changes.tsx';
import { IdentityText } from '../../parts/identity.tsx';
import { countText } from '../../parts/numbers.ts';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { Ago } from '../../parts/time.tsx';
import type { Json } from '../../service/json.ts';
import { useLoad } from '../../service/load.ts';
import { type RowChange, type RowOperation, readRowHistory } from '../../service/row-history.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { Link, pageAddress } from '../../shell/router.tsx';
import styles from './row-changes.module.css';

interface RowChangesProps {
  readonly table: string;
  /** The key of the row, as people write it. */
  readonly text: string;
  /** Something else when the row has changed: it is read again. */
  readonly version: string;
}

/** How many changes are read; more when somebody asks. */
const steps = [20, 200, 1_000];

/** Who wrote a row, when, by which call, and what each of them changed. */
export function RowChanges({ table, text, version }: RowChangesProps) {
  const { database, whyNot } = useDatabase();
  const why = whyNot('view_history');
  const [step, setStep] = useState(0);
  const limit = steps[step] ?? 20;
  const history = useLoad(
    why === false ? `${database}\n${table}\n${text}\n${limit}\n${version}` : null,
    (signal) => readRowHistory(database, { table, key: text, limit }, signal),
  );
  if (why !== false) {
    return (
      <Empty icon="lock" title="You may not see the history">
        {why}
      </Empty>
    );
  }
  return (
    <WhenLoaded of={history}>
      {({ changes, hasMore, from }) => (
        <>
          {changes.length === 0 && (
            <Empty icon="clock" title="No change of this row is kept">
              The history begins at commit {countText(from)}. The row is older, or was never there.
            </Empty>
          )}
          <ol className={styles.changes} aria-label="Changes of this row">
            {changes.map((change) => (
              <Change key={change.offset} database={database} of={change} />
            ))}
          </ol>
          {hasMore && step < steps.length - 1 && (
            <Button onClick={() => setStep(step + 1)}>Show older changes</Button>
          )}
        </>
      )}
    </WhenLoaded>
  );
}

const words: Readonly<Record<RowOperation, string>> = {
  insert: 'inserted',
  update: 'updated',
  delete: 'deleted',
};
const kinds: Readonly<Record<RowOperation, 'good' | 'accent' | 'danger'>> = {
  insert: 'good',
  update: 'accent',
  delete: 'danger',
};

function Change({ database, of }: { readonly database: string; readonly of: RowChange }) {
  const { offset, time, operation, reducer, caller } = of;
  return (
    <li className={styles.change}>
      <div className={styles.head}>
        <Badge kind={kinds[operation]}>{words[operation]}</Badge>
        <span className={styles.by}>
          {reducer === null ? (
            'by a statement'
          ) : (
            <Link to={pageAddress(database, 'functions', { f: reducer })}>{reducer}</Link>
          )}
        </span>
        <span className={styles.when}>
          <Ago time={time} />
        </span>
      </div>
      <div className={styles.facts}>
        <IdentityText hex={caller} />
        <span>commit {countText(offset)}</span>
      </div>
      <Values of={of} />
    </li>
  );
}

/** What an update changed, or the row that came or went. */
function Values({ of: { operation, before, after } }: { readonly of: RowChange }) {
  const names = Object.keys(after ?? before ?? {});
  if (names.length === 0) return <p className={styles.none}>The row is too long to be shown.</p>;
  const isShown = (name: string) =>
    operation !== 'update' || isOther(before?.[name], after?.[name]);
  return (
    <dl className={styles.values}>
      {names.filter(isShown).map((name) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {before !== null && (
              <del>
                <PlainValue value={before[name]} />
              </del>
            )}
            {operation === 'update' && <span aria-hidden="true">→</span>}
            {after !== null && (
              <ins>
                <PlainValue value={after[name]} />
              </ins>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function isOther(one: Json | undefined, other: Json | undefined): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}
