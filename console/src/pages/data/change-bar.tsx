import { useEffect, useRef, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Changes } from '../../parts/changes.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Loading, Notice } from '../../parts/state.tsx';
import { say } from '../../parts/toast.tsx';
import type { ServiceError } from '../../service/http.ts';
import { serviceErrorOf } from '../../service/load.ts';
import { applyPreview, createPreview, dropPreview, type Preview } from '../../service/previews.ts';
import type { TableSchema } from '../../service/schema.ts';
import styles from './change-bar.module.css';
import { type ChangeSet, editSql, setSql, without } from './change-set.ts';

interface ChangeBarProps {
  readonly database: string;
  readonly table: TableSchema;
  readonly set: ChangeSet;
  readonly onChange: (set: ChangeSet) => void;
  readonly onApplied: () => void;
}

/** How many edits wait; they are shown, tried, and applied exactly as shown, or dropped. */
export function ChangeBar({ database, table, set, onChange, onApplied }: ChangeBarProps) {
  const [isOpen, setOpen] = useState(false);
  if (set.length === 0) return null;
  return (
    <footer className={styles.bar}>
      <span className={styles.words} role="status">
        {set.length === 1 ? '1 change' : `${set.length} changes`} not applied
      </span>
      <Button onClick={() => onChange([])}>Discard</Button>
      <Button kind="accent" onClick={() => setOpen(true)}>
        Review
      </Button>
      {isOpen && (
        <Review
          database={database}
          table={table}
          set={set}
          onChange={onChange}
          onClose={() => setOpen(false)}
          onApplied={onApplied}
        />
      )}
    </footer>
  );
}

const changedText =
  'Rows changed since the preview; nothing was written. Below is what the changes come to now.';

interface ReviewProps extends ChangeBarProps {
  readonly onClose: () => void;
}

function Review({ database, table, set, onChange, onClose, onApplied }: ReviewProps) {
  const sql = setSql(table, set);
  const { preview, error, again, taken } = usePreview(database, sql);
  const [failure, setFailure] = useState<ServiceError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const id = preview?.id ?? null;
  const apply = async () => {
    if (id === null) return;
    setBusy(true);
    setFailure(null);
    try {
      taken();
      const applied = await applyPreview(database, id);
      if (applied.kind === 'different') throw new Error(changedText);
      say(set.length === 1 ? 'The change is applied' : 'The changes are applied');
      onChange([]);
      onApplied();
      onClose();
    } catch (reason) {
      setFailure(serviceErrorOf(reason));
      again();
    } finally {
      setBusy(false);
    }
  };
  const off = id === null && (preview === null ? 'It is tried first' : 'This cannot be applied');
  const foot = (
    <>
      <Copy text={sql} what="SQL" label="Copy SQL" />
      <Button onClick={onClose}>Go on editing</Button>
      <Button kind="accent" off={off} isBusy={isBusy} onClick={() => void apply()}>
        Apply exactly this
      </Button>
    </>
  );
  const drop = (edit: string) => {
    const rest = without(set, edit);
    onChange(rest);
    if (rest.length === 0) onClose();
  };
  return (
    <Dialog title={`Changes of ${table.name}`} form="wide" onClose={onClose} foot={foot}>
      <Edits table={table} set={set} onDrop={drop} />
      {failure !== null && <Problem error={failure} />}
      {error !== null && <Problem error={error} />}
      {error === null && preview === null && <Loading label="Trying the changes" lines={3} />}
      {preview !== null && <Tried preview={preview} />}
    </Dialog>
  );
}

/** What the statements would do, or why they are refused. */
function Tried({ preview }: { readonly preview: Preview }) {
  if (preview.isCommit) return <Changes of={preview} />;
  return (
    <Notice kind="danger" isAlert>
      <p>{preview.error ?? 'The changes are refused.'}</p>
      {preview.hint !== null && <p>{preview.hint}</p>}
    </Notice>
  );
}

function Edits(props: { table: TableSchema; set: ChangeSet; onDrop: (id: string) => void }) {
  return (
    <ul className={styles.edits} aria-label="Statements">
      {props.set.map((edit) => (
        <li key={edit.id}>
          <code>{editSql(props.table, edit)}</code>
          <Button
            kind="plain"
            size="small"
            icon="close"
            aria-label="Discard this change"
            onClick={() => props.onDrop(edit.id)}
          />
        </li>
      ))}
    </ul>
  );
}

function Problem({ error }: { readonly error: ServiceError }) {
  return (
    <Notice kind="danger" isAlert>
      <p>{error.message}</p>
      {error.hint !== undefined && <p>{error.hint}</p>}
    </Notice>
  );
}

/** Tries statements as long as they are shown; what was kept of an earlier try is dropped. */
function usePreview(database: string, sql: string) {
  const [preview, setPreview] = useState<Preview | null>(null);
  const [error, setError] = useState<ServiceError | null>(null);
  const [round, setRound] = useState(0);
  const kept = useRef<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a round tries the same again
  useEffect(() => {
    let isOver = false;
    const drop = (id: string) => void dropPreview(database, id).catch(() => undefined);
    setPreview(null);
    setError(null);
    createPreview(database, { sql }).then(
      (made) => {
        if (isOver && made.id !== null) drop(made.id);
        if (isOver) return;
        kept.current = made.id;
        setPreview(made);
      },
      (reason: unknown) => isOver || setError(serviceErrorOf(reason)),
    );
    return () => {
      isOver = true;
      if (kept.current !== null) drop(kept.current);
      kept.current = null;
    };
  }, [database, sql, round]);
  /** The preview is applied now: it is not there to be dropped any more. */
  const taken = () => {
    kept.current = null;
  };
  return { preview, error, taken, again: () => setRound((count) => count + 1) };
}
