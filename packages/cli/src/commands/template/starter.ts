/** Name of the file that says what a template consists of. */
export const templateFileName = 'svc.template.mjs';

/** A first template, to be changed. It needs nothing installed: the SDK's builder is handed in. Pure. */
export function starterText(name: string): string {
  return `// What sandboxes of the template "${name}" start from. Build it with: svc template build
export const name = ${JSON.stringify(name)};

export default ({ Template }) =>
  Template.from('base')
    .env({ GREETING: 'hello' })
    .run('mkdir -p ~/app && echo "made by the build" > ~/app/notes.txt');
// More steps: .copy('src/', 'app/'), .workdir('/home/user/app'), .user('worker'),
// .start('python3 -m http.server 8000', 'curl -sf http://localhost:8000/') for a program that runs from the start.
`;
}

/** A name that templates may have, made of that of a directory. Pure. */
export function nameFor(directory: string): string {
  const name = directory
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'my-template' : name;
}
