// The search of these pages runs in a worker, and browsers refuse workers to pages that are opened
// from a file. There, a hidden frame runs the worker's script instead: no server, no network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.ready = false;
      const start = () => {
        const frame = document.createElement("iframe");
        frame.hidden = true;
        document.body.append(frame);
        this.scope = frame.contentWindow;
        // what the script posts goes to the page, not to the frame itself
        this.scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
        this.scope.importScripts = (...names) =>
          names.reduce((before, name) => before.then(() => this.load(name)), Promise.resolve());
        this.load(new URL(url, location.href).href).then(() => {
          this.ready = true;
          this.waiting.splice(0).forEach(data => this.postMessage(data));
        });
      };
      document.body ? start() : addEventListener("DOMContentLoaded", start);
    }
    load(source) {
      return new Promise((loaded, failed) => {
        const inside = this.scope.document;
        const script = inside.createElement("script");
        Object.assign(script, { src: source, onload: loaded, onerror: failed });
        inside.head.append(script);
      });
    }
    postMessage(data) {
      if (!this.ready) return void this.waiting.push(data);
      this.scope.dispatchEvent(new this.scope.MessageEvent("message", { data }));
    }
    terminate() {}
  };
}
