import { useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field, Input, Switch, TextArea } from '../../parts/field.tsx';
import { Refusal } from '../../parts/state.tsx';
import { say } from '../../parts/toast.tsx';
import { type DeclaredEnv, setEnv } from '../../service/env.ts';
import type { ServiceError } from '../../service/http.ts';
import { serviceErrorOf } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import styles from './env.module.css';

interface SetDialogProps {
  /** Empty: a name of one's own. */
  readonly name: string;
  readonly isSecret: boolean;
  /** The value so far; that of a secret is not known. */
  readonly value: string;
  readonly declared: readonly DeclaredEnv[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const namePattern = /^[A-Z][A-Z0-9_]{0,63}$/;

/** Sets a value or a secret. */
export function SetDialog(props: SetDialogProps) {
  const { name: given, declared, onClose, onDone } = props;
  const { database } = useDatabase();
  const [name, setName] = useState(given);
  const [value, setValue] = useState(props.value);
  const [isOwnSecret, setSecret] = useState(props.isSecret);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ServiceError | null>(null);
  const known = declared.find((each) => each.name === name);
  const isSecret = known?.isSecret ?? isOwnSecret;
  const isWrong = name !== '' && !namePattern.test(name);
  const off = name === '' ? 'Give it a name.' : isWrong && 'The name is not allowed.';
  const save = () => {
    setBusy(true);
    setEnv(database, name, { value, secret: isSecret })
      .then((hint) => {
        say(`Set ${name}`, hint);
        onDone();
      })
      .catch((failure: unknown) => setError(serviceErrorOf(failure)))
      .finally(() => setBusy(false));
  };
  const foot = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="accent" off={off} isBusy={isBusy} onClick={save}>
        Set
      </Button>
    </>
  );
  return (
    <Dialog title={given === '' ? 'Set a value' : `Set ${given}`} onClose={onClose} foot={foot}>
      <div className={styles.form}>
        {given === '' && (
          <Field
            label="Name"
            error={isWrong ? 'Capital letters, digits and _, a letter first' : undefined}
          >
            {(control) => (
              <Input
                {...control}
                isData
                value={name}
                onChange={(event) => setName(event.target.value.trim())}
              />
            )}
          </Field>
        )}
        <Field label="Value" note={known === undefined || isSecret ? undefined : known.type}>
          {(control) =>
            isSecret ? (
              <Input
                {...control}
                isData
                type="password"
                autoComplete="new-password"
                value={value}
                onChange={(event) => setValue(event.target.value)}
              />
            ) : (
              <TextArea
                {...control}
                isData
                value={value}
                onChange={(event) => setValue(event.target.value)}
              />
            )
          }
        </Field>
        {known === undefined ? (
          <Switch label="It is a secret" isOn={isOwnSecret} onChange={setSecret} />
        ) : (
          <p className={styles.quiet}>
            The program declares it as{' '}
            {known.isSecret ? 'a secret' : `a plain value (${known.type})`}.
          </p>
        )}
        {isSecret && (
          <p className={styles.quiet}>
            Procedures and handlers alone can read a secret, and nobody can read it back.
          </p>
        )}
        <Refusal error={error} />
      </div>
    </Dialog>
  );
}
