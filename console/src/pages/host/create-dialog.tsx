import { useState } from 'react';
import { Dialog, DialogForm } from '../../parts/dialog.tsx';
import { Field, Input } from '../../parts/field.tsx';
import { WhenLoaded } from '../../parts/state.tsx';
import type { ServiceError } from '../../service/http.ts';
import { serviceErrorOf, useLoad } from '../../service/load.ts';
import { createFromTemplate, readTemplates, type Template } from '../../service/templates.ts';
import { navigate, pageAddress } from '../../shell/router.tsx';
import styles from './host.module.css';

/** Names a new database and chooses the program that it begins with. */
export function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const templates = useLoad('templates', readTemplates);
  return (
    <Dialog title="New database" onClose={onClose}>
      <WhenLoaded of={templates}>
        {(list) => <CreateForm templates={list} onClose={onClose} />}
      </WhenLoaded>
    </Dialog>
  );
}

interface CreateFormProps {
  readonly templates: readonly Template[];
  readonly onClose: () => void;
}

function CreateForm({ templates, onClose }: CreateFormProps) {
  const [name, setName] = useState('');
  const [template, setTemplate] = useState(templates[0]?.name ?? '');
  const [error, setError] = useState<ServiceError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const fault = name === '' ? undefined : faultOf(name);
  const create = async () => {
    if (name === '' || fault !== undefined) return;
    setBusy(true);
    setError(null);
    try {
      await createFromTemplate(name, template);
      navigate(pageAddress(name, 'data'));
    } catch (problem) {
      setError(serviceErrorOf(problem));
      setBusy(false);
    }
  };
  return (
    <DialogForm
      action="Create"
      off={name === '' && 'Type a name first'}
      {...{ isBusy, error, onClose }}
      onSubmit={create}
    >
      <Field label="Name" note="small letters, digits and dashes" error={fault}>
        {(control) => (
          <Input
            {...control}
            isData
            autoFocus
            value={name}
            placeholder="my-db"
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <fieldset className={styles.templates}>
        <legend>Begin with the module of</legend>
        {templates.map(({ name: each, description }) => (
          <label key={each} className={styles.template}>
            <input
              type="radio"
              name="template"
              checked={each === template}
              onChange={() => setTemplate(each)}
            />
            <span>
              <strong>{each}</strong>
              <span className={styles.about}>{description}</span>
            </span>
          </label>
        ))}
        <p className={styles.about}>
          Only the database is made. Its source and its page come with{' '}
          <code>reducerdb init my-app --template {template}</code>.
        </p>
      </fieldset>
    </DialogForm>
  );
}

function faultOf(name: string): string | undefined {
  if (/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) return undefined;
  return 'A name has small letters and digits, with single dashes between them.';
}
