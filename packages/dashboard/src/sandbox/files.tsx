import type { FileEntry } from '@svc/sdk';
import { useState } from 'preact/hooks';
import { usePoll } from '../connection/use-poll.js';
import { formatBytes } from '../format/numbers.js';
import { cleanPath, crumbsOf, joinPath, parentOf } from '../format/paths.js';
import { visibleText } from '../format/visible-text.js';
import { Empty, Failure, Loading, Notice } from '../parts/notice.js';
import { saveFile } from '../parts/save-file.js';
import { type Column, Table } from '../parts/table.js';
import { Foreign, When } from '../parts/text.js';
import type { TabProps } from './tab-props.js';

/** Largest file that is shown, bytes. */
const LARGEST_SHOWN = 1_048_576;
/** Most characters of it. */
const MOST_CHARACTERS = 200_000;
/** Most entries of a directory. */
const MOST_ENTRIES = 2_000;

/** The files of a sandbox: look at them, take them away, bring some. */
export function Files({ handle, detail }: TabProps) {
  const [path, setPath] = useState('/home');
  const [typed, setTyped] = useState(path);
  const [user, setUser] = useState('root');
  const [opened, setOpened] = useState<FileEntry>();
  const [problem, setProblem] = useState<unknown>();
  const [doing, setDoing] = useState<string>();
  const running = detail.state === 'running';
  const as = user === '' ? {} : { user };
  const { value, error, reload } = usePoll(
    `files ${detail.sandboxId} ${path} ${user} ${running}`,
    0,
    (signal) => (running ? handle.files.list(path, { ...as, signal }) : Promise.resolve([])),
  );
  if (!running) return <Notice kind="info">The sandbox is paused. Resume it to see its files.</Notice>;
  const go = (to: string) => {
    setOpened(undefined);
    setProblem(undefined);
    setPath(to);
    setTyped(to);
  };
  const during = async (what: string, work: () => Promise<void>) => {
    setProblem(undefined);
    setDoing(what);
    try {
      await work();
    } catch (thrown) {
      setProblem(thrown);
    }
    setDoing(undefined);
  };
  const download = (entry: FileEntry) =>
    during(`Downloading ${visibleText(entry.name, 80)}…`, async () => {
      const blob = await handle.files.read(entry.path, {
        ...as,
        format: 'blob',
        requestTimeoutMs: 3_600_000,
      });
      saveFile(new Blob([blob], { type: 'application/octet-stream' }), entry.name);
    });
  const upload = (files: readonly File[]) =>
    during(
      `Uploading ${files.length === 1 ? visibleText(files[0]!.name, 80) : `${files.length} files`}…`,
      async () => {
        for (const file of files)
          await handle.files.write(joinPath(path, file.name), file, { ...as, requestTimeoutMs: 3_600_000 });
        reload();
      },
    );
  const columns: Column<FileEntry>[] = [
    {
      name: 'Name',
      show: (entry) => (
        <button
          type="button"
          class="link"
          onClick={() => (entry.type === 'directory' ? go(joinPath(path, entry.name)) : setOpened(entry))}
        >
          <Foreign text={entry.name + (entry.type === 'directory' ? '/' : '')} longest={260} />
        </button>
      ),
    },
    {
      name: 'Size',
      numeric: true,
      show: (entry) => (entry.type === 'directory' ? '' : formatBytes(entry.sizeBytes)),
    },
    { name: 'Changed', show: (entry) => <When time={entry.modifiedAt} /> },
    { name: 'Permissions', minor: true, show: (entry) => <code>{entry.permissions}</code> },
    {
      name: 'Owner',
      minor: true,
      show: (entry) => <Foreign text={`${entry.owner}:${entry.group}`} longest={80} />,
    },
    {
      name: 'Download',
      show: (entry) =>
        entry.type === 'file' && (
          <button type="button" class="link" onClick={() => void download(entry)}>
            Download<span class="unseen"> {visibleText(entry.name, 80)}</span>
          </button>
        ),
    },
  ];
  return (
    <>
      <nav class="crumbs" aria-label="Way to the directory">
        {crumbsOf(path).map((crumb) => (
          <button key={crumb.path} type="button" class="link" onClick={() => go(crumb.path)}>
            <Foreign text={crumb.name} longest={80} />
          </button>
        ))}
      </nav>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          go(cleanPath(typed));
        }}
      >
        <label>
          Directory
          <input
            value={typed}
            spellcheck={false}
            data-search=""
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <label>
          As user
          <select value={user} onChange={(event) => setUser(event.currentTarget.value)}>
            <option value="root">root</option>
            <option value="">the sandbox's own</option>
          </select>
        </label>
        <button type="button" disabled={path === '/'} onClick={() => go(parentOf(path))}>
          Up
        </button>
        <button type="button" onClick={reload}>
          Look again
        </button>
        <label class="upload">
          Upload
          <input
            type="file"
            multiple
            onChange={(event) => {
              const field = event.currentTarget;
              void upload([...(field.files ?? [])]).then(() => {
                field.value = '';
              });
            }}
          />
        </label>
      </form>
      {doing !== undefined && <Notice kind="info">{doing}</Notice>}
      <Failure error={problem ?? error} />
      {opened !== undefined && (
        <Shown key={opened.path} {...{ handle, as }} entry={opened} onClose={() => setOpened(undefined)} />
      )}
      {value === undefined ? (
        error === undefined && <Loading />
      ) : value.length === 0 ? (
        <Empty title="This directory is empty" />
      ) : (
        <>
          <Table
            label="Files"
            rows={[...value].sort(byKindAndName).slice(0, MOST_ENTRIES)}
            columns={columns}
            keyOf={(entry) => entry.path}
          />
          {value.length > MOST_ENTRIES && (
            <p class="faint">
              {value.length - MOST_ENTRIES} more are not shown. Use the terminal for directories of this size.
            </p>
          )}
        </>
      )}
    </>
  );
}

/** The text of a file. */
function Shown(props: {
  handle: TabProps['handle'];
  entry: FileEntry;
  as: { user?: string };
  onClose: () => void;
}) {
  const { handle, entry, as, onClose } = props;
  const large = entry.sizeBytes > LARGEST_SHOWN;
  const { value, error } = usePoll(`file ${entry.path}`, 0, async (signal) =>
    large ? undefined : decode(await handle.files.read(entry.path, { ...as, format: 'bytes', signal })),
  );
  return (
    <section class="card file" aria-label="File">
      <div class="head">
        <h2>
          <Foreign text={entry.path} longest={400} />
        </h2>
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
      <Failure error={error} />
      {large ? (
        <p class="faint">It has {formatBytes(entry.sizeBytes)}: download it to look at it.</p>
      ) : value === undefined ? (
        error === undefined && <Loading />
      ) : value.binary ? (
        <p class="faint">This is no text: download it to look at it.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <pre tabIndex={0}>{visibleText(value.text, MOST_CHARACTERS)}</pre>
      )}
    </section>
  );
}

function decode(bytes: Uint8Array): { text: string; binary: boolean } {
  const text = new TextDecoder().decode(bytes);
  return { text, binary: text.includes('\u0000') || text.includes('\ufffd') };
}

function byKindAndName(a: FileEntry, b: FileEntry): number {
  const kind = Number(b.type === 'directory') - Number(a.type === 'directory');
  return kind || (a.name < b.name ? -1 : 1);
}
