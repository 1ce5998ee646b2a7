// The search quotes from the pages that it has found, which it fetches. Browsers do not let a file fetch others: there it
// quotes from one file with the texts of all pages, which conf.py writes.
if (location.protocol === "file:") {
  const texts = new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = "_static/texts.js";
    script.onload = () => resolve(TEXTS);
    document.head.append(script);
  });
  window.fetch = async (page) => {
    const main = document.createElement("div");
    main.setAttribute("role", "main");
    main.textContent = (await texts)[page.replace(/^\.\//, "").replace(/\.html$/, "")];
    return { text: () => main.outerHTML };
  };
}
