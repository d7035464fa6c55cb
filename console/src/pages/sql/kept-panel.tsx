import { type ChangeEvent, useRef, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { download } from '../../parts/download.ts';
import { Input } from '../../parts/field.tsx';
import { Empty } from '../../parts/state.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Ago } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';
import { useStore } from '../../service/store.ts';
import { forget, importKept, type KeptStatement, keptFor, save } from './saved.ts';
import styles from './sql.module.css';

interface KeptPanelProps {
  readonly database: string;
  /** What is in the editor, to give it a name. */
  readonly sql: string;
  readonly onChoose: (sql: string) => void;
  readonly onClose: () => void;
}

const tabs = [
  { id: 'saved', label: 'Saved' },
  { id: 'history', label: 'History' },
] as const;

/** Statements of this browser: named ones, and what was run. */
export function KeptPanel({ database, sql, onChoose, onClose }: KeptPanelProps) {
  const kept = useStore(keptFor(database));
  const [shown, setShown] = useState<'saved' | 'history'>('saved');
  const entries = kept[shown];
  const foot = (
    <>
      <ImportButton database={database} />
      <Button
        icon="download"
        onClick={() =>
          download(`${database}-sql.json`, 'application/json', JSON.stringify(kept, null, 2))
        }
      >
        Export
      </Button>
    </>
  );
  return (
    <Dialog title="Statements" form="side" onClose={onClose} foot={foot}>
      <SaveForm database={database} sql={sql} />
      <Tabs label="Statements" tabs={tabs} chosen={shown} onChoose={setShown} />
      {entries.length === 0 && (
        <Empty
          icon="history"
          title={shown === 'saved' ? 'No saved statements' : 'No statements yet'}
        >
          Statements are kept in this browser only.
        </Empty>
      )}
      <ul className={styles.kept}>
        {entries.map((entry) => (
          <Entry
            key={`${entry.at} ${entry.name} ${entry.sql}`}
            entry={entry}
            onChoose={() => onChoose(entry.sql)}
            onForget={() => forget(database, entry)}
          />
        ))}
      </ul>
    </Dialog>
  );
}

interface EntryProps {
  readonly entry: KeptStatement;
  readonly onChoose: () => void;
  readonly onForget: () => void;
}

function Entry({ entry, onChoose, onForget }: EntryProps) {
  return (
    <li>
      <button type="button" onClick={onChoose}>
        {entry.name !== '' && <strong>{entry.name}</strong>}
        <code>{entry.sql}</code>
      </button>
      <Ago time={entry.at} />
      <Button kind="plain" size="small" icon="close" aria-label="Forget it" onClick={onForget} />
    </li>
  );
}

function SaveForm({ database, sql }: { readonly database: string; readonly sql: string }) {
  const [name, setName] = useState('');
  const off =
    (sql.trim() === '' && 'There is no statement') || (name.trim() === '' && 'Give it a name');
  return (
    <form
      className={styles.row}
      onSubmit={(event) => {
        event.preventDefault();
        if (off !== false) return;
        save(database, name.trim(), sql);
        setName('');
      }}
    >
      <Input
        aria-label="Name"
        placeholder="Name for this statement"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Button isSubmit off={off} icon="star">
        Save
      </Button>
    </form>
  );
}

function ImportButton({ database }: { readonly database: string }) {
  const input = useRef<HTMLInputElement>(null);
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    if (file === undefined) return;
    say(`${importKept(database, await file.text())} statements are there`);
    event.target.value = '';
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        accept="application/json"
        hidden
        aria-label="File with statements"
        onChange={(event) => void read(event)}
      />
      <Button icon="upload" onClick={() => input.current?.click()}>
        Import
      </Button>
    </>
  );
}
