//! What lscpu calls things, in every language that util-linux 2.36 to 2.41 has a translation for (and some older names).
//! These are facts read out of its message catalogues, without the colon at the end.

/// What a line of lscpu tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    /// `x86_64`.
    Architecture,
    /// `32-bit, 64-bit`.
    OpModes,
    /// `46 bits physical, 48 bits virtual`.
    AddressSizes,
    /// CPUs present.
    Cpus,
    /// CPUs online, as a list.
    Online,
    /// CPUs offline, as a list.
    Offline,
    /// CPUs online, as a mask (`--hex`).
    OnlineMask,
    /// CPUs offline, as a mask.
    OfflineMask,
    /// Threads of a core.
    ThreadsPerCore,
    /// Cores of a package.
    CoresPerSocket,
    /// Cores of a cluster.
    CoresPerCluster,
    /// Clusters.
    Clusters,
    /// Packages.
    Sockets,
    /// Packages of a book, books of a drawer, books, drawers (IBM Z).
    OfRack,
    /// NUMA nodes.
    Nodes,
    /// Vendor.
    Vendor,
    /// The x86 family.
    Family,
    /// The x86 model.
    Model,
    /// The model's name.
    ModelName,
    /// The model as the firmware tells it.
    BiosModelName,
    /// Stepping.
    Stepping,
    /// Whether boost is on.
    Boost,
    /// The clock of the moment.
    Mhz,
    /// Highest clock.
    MaxMhz,
    /// Lowest clock.
    MinMhz,
    /// Hypervisor, by its own name (IBM Z).
    Hypervisor,
    /// Hypervisor.
    HypervisorVendor,
    /// `full`, `para`, `container`.
    VirtualizationType,
    /// Features.
    Flags,
    /// A cache: `%s` is its name.
    Cache,
    /// CPUs of a node: `%d` is its number.
    NodeCpus,
    /// A vulnerability: `%s` is its name.
    Vulnerability,
    /// Known, and of no use here.
    Other,
}

/// Every name of each key.
#[rustfmt::skip]
pub(super) const LABELS: &[(Key, &[&str])] = &[
    (Key::Architecture, &[
        "Architecture", "Architektura", "Arkitektur", "Architektur", "Arquitectura", "Arhitektura", "アーキテクチャ",
        "Architectuur", "Arquitetura", "Архитектура", "Mimari", "Архітектура", "Kiến trúc", "架构", "架構",
        "არქიტექტურა", "아키텍처", "Arhitectura",
    ]),
    (Key::OpModes, &[
        "CPU op-mode(s)", "Operační režim(y) CPU", "Op-tilstande for CPU", "CPU Operationsmodus",
        "modo(s) de operación de las CPUs", "CPUaren op-modua(k)", "Mode(s) opératoire(s) des processeurs",
        "Modo(s) OP da CPU", "Op-mod(ovi) CPU-a", "CPU op-mode", "CPU 操作モード", "CPU-modus(sen)",
        "Tryb(y) pracy CPU", "Modos de operação da CPU", "Modo(s) operacional da CPU", "CPU op-läge(n)",
        "İşlemci işlem-kipi", "Режими ЦП", "Chế độ thao tác CPU", "CPU 运行模式", "CPU 作業模式", "CPU 동작 모드",
        "Moduri de operare procesor", "Оп-режим(и) процесора",
    ]),
    (Key::AddressSizes, &[
        "Address sizes", "Velikost adresy", "Adressestørrelser", "Adressgrößen", "Tamaños de las direcciones",
        "Tailles des adresses", "Veličine adresa", "Rozmiary adresów", "Tamanhos de endereços",
        "Tamanhos de endereço", "Adresstorlekar", "Розміри адрес", "tamanhos de endereços", "アドレスサイズ",
        "მისამართის ზომები", "주소 크기", "Adresgroottes", "Dimensiunile adreselor", "Величине адресе",
    ]),
    (Key::Cpus, &[
        "CPU(s)", "Počet CPU", "CPU'er", "Processeur(s)", "CPU(-a)", "CPU", "CPU's", "CPU(er)", "İşlemciler",
        "Процесори", "CPU-uri",
    ]),
    (Key::Online, &[
        "On-line CPU(s) list", "Seznam zapnutých CPU", "Tilkoblet cpu(er) liste", "Liste der Online-CPU(s)",
        "Lista de la(s) CPU(s) en línea", "Liste de processeur(s) en ligne", "Popis online CPU-a",
        "オンラインになっている CPU のリスト", "Online CPU's-lijst", "Lista aktywnych CPU", "Lista das CPUs online",
        "Lista de CPU(s) on-line", "Lista över aktiva CPU(er)", "Çevrimiçi işlemci(ler) listesi",
        "Список робочих ЦП", "Danh sách CPU trực tuyến", "在线 CPU 列表", "온라인 CPU 목록",
        "Lista CPU-urilor în linie (conectate)", "Списак присутних процесора",
    ]),
    (Key::OnlineMask, &[
        "On-line CPU(s) mask", "Maska zapnutých CPU", "Tilkoblet cpu(er) maske",
        "Maske der Online-CPU(s)", "Máscara de la(s) CPU(s) en línea", "Masque de processeur(s) en ligne",
        "Maska online CPU-a", "オンラインになっている CPU のマスク", "Online CPU's-masker", "Maska aktywnych CPU",
        "Máscara das CPUs online", "Máscara de CPU(s) on-line", "Mask för aktiva CPU(er)",
        "Çevrimiçi işlemci(ler) maskesi", "Маска робочих ЦП", "Mặt nạ CPU trực tuyến", "在线 CPU 掩码",
        "온라인 CPU 마스크", "Masca CPU-urilor în linie (conectate)", "Маска присутних процесора",
    ]),
    (Key::Offline, &[
        "Off-line CPU(s) list", "Seznam vypnutých CPU", "Frakoblet cpu(er) liste", "Liste der Offline-CPU(s)",
        "Lista de la(s) CPU(s) fuera de línea", "Liste de processeur(s) hors ligne", "Popis offline CPU-a",
        "オフラインになっている CPU のリスト", "Offline CPU's-lijst", "Lista nieaktywnych CPU", "Lista das CPUs offline",
        "Lista de CPU(s) off-line", "Lista över inaktiva CPU(er)", "Çevrimiçi işlemci listesi",
        "Список вимкнених ЦП", "Danh sách CPU ngoại tuyến", "离线 CPU 列表", "오프라인 CPU 목록",
        "Lista CPU-urilor în afara liniei (deconectate)", "Списак одсутних процесора",
    ]),
    (Key::OfflineMask, &[
        "Off-line CPU(s) mask", "Maska vypnutých CPU", "Frakoblet cpu(er) maske", "Maske der Offline-CPU(s)",
        "Máscara de la(s) CPU(s) fuera de línea", "Masque de processeur(s) hors ligne", "Maska offline CPU-a",
        "オフラインになっている CPU のマスク", "Offline CPU's-masker", "Maska nieaktywnych CPU", "Máscara das CPUs offline",
        "Máscara de CPU(s) off-line", "Mask för inaktiva CPU(er)", "Çevrimiçi işlemci maskesi",
        "Маска вимкнених ЦП", "Mặt nạ CPU ngoại tuyến", "离线 CPU 掩码", "오프라인 CPU 마스크",
        "Masca CPU-urilor în afara liniei (deconectate)", "Маска одсутних процесора",
    ]),
    (Key::ThreadsPerCore, &[
        "Thread(s) per core", "Vláken na jádro", "Tråde per kerne", "Thread(s) pro Kern",
        "Hilo(s) de procesamiento por núcleo", "Core bakoitzeko hari kopurua", "Thread(s) par cœur",
        "Dretva po jezgri", "Thread(s) setiap inti", "コアあたりのスレッド数", "Draden per kern", "Wątków na rdzeń",
        "Tópicos por núcleo", "Thread(s) per núcleo", "Tråd(ar) per kärna", "Çekirdek başına iş parçacığı",
        "Потоків на ядро", "Số tuyến mỗi lõi", "每个核的线程数", "每核心執行緒數", "코어 당 스레드", "Fire de execuție pe nucleu",
        "Нити по језгру", "Threads per core",
    ]),
    (Key::CoresPerSocket, &[
        "Core(s) per socket", "Jader na patici", "Kerner per sokkel", "Kern(e) pro Sockel",
        "Núcleo(s) por «socket»", "Socket bakoitzeko core kopurua", "Cœur(s) par socket",
        "Jezgra po podnožju", "Inti setiap soket", "ソケットあたりのコア数", "Kernen per voet", "Rdzeni na gniazdo",
        "Núcleos por socket", "Núcleo(s) por soquete", "Ядер на сокет", "Kärn(or) per uttag",
        "Soket başına çekirdek", "Số lõi mỗi đế cắm", "每个座的核数", "每通訊端核心數", "소켓 당 코어 수", "Nuclee pe soclu",
        "Језгра по прикључници", "每个插槽的核数", "Kern(e) pro Socket", "Cores per socket",
    ]),
    (Key::CoresPerCluster, &[
        "Core(s) per cluster", "Jader na klastr", "Kern(e) pro Cluster", "Núcleo(s) por «cluster»",
        "Cœur(s) par cluster", "Jezgr(a/e) po klasteru", "Rdzeni na klaster", "Núcleos por cluster",
        "Núcleo(s) por cluster", "Ядер на кластер", "クラスタあたりのコア数", "클러스터 당 코어", "Kernen per cluster",
        "Nuclee pe cluster", "Језгра по кластеру",
    ]),
    (Key::Clusters, &[
        "Cluster(s)", "Klastrů", "Cluster", "«Cluster(s)»", "Klaster(i)", "Klastrów", "Кластери", "クラスタ数",
        "클러스터", "Clustere", "Кластер(и)",
    ]),
    (Key::Sockets, &[
        "Socket(s)", "CPU socket(s)", "Patic", "Sokler", "Sockel", "«Socket(s)»", "CPU podnožja", "ソケット数",
        "CPU-voeten", "Gniazd", "Sockets", "Soquete(s)", "Сокетов", "Uttag", "Soket(ler)", "Сокети",
        "Số đế cắm", "座", "소켓", "Socluri", "Прикључнице", "插槽", "CPU 座",
    ]),
    (Key::OfRack, &["Socket(s) per book", "Book(s) per drawer", "Book(s)", "Drawer(s)"]),
    (Key::Nodes, &[
        "NUMA node(s)", "Uzly NUMA", "NUMA-knuder", "NUMA-Knoten", "Modo(s) NUMA", "NUMA noduak",
        "Nœud(s) NUMA", "Nodo(s) NUMA", "NUMA čvor(ovi)", "Titik NUMA", "NUMA ノード数", "NUMA-nodes",
        "Węzłów NUMA", "Nós NUMA", "Nó(s) de NUMA", "NUMA nod(er)", "NUMA düğümü(leri)", "Вузли NUMA",
        "Nút NUMA", "NUMA 节点", "NUMA 節點", "NUMA კვანძ(ებ)-ი", "NUMA 노드", "Noduri NUMA", "NUMA чвор(ови)",
    ]),
    (Key::Vendor, &[
        "Vendor ID", "ID výrobce", "Leverandør-id", "Anbieterkennung", "ID de fabricante",
        "Fabrikatzailearen IDa", "Identifiant constructeur", "ID do fabricante", "ID proizvođača",
        "ID Pembuat", "ベンダー ID", "Producent-ID", "ID producenta", "ID de fornecedor", "ID прроизводителя",
        "Tillverkar-ID", "Sağlayıcı Kimliği", "Ідентифікатор виробника", "ID nhà sản xuất", "厂商 ID", "供應商識別號",
        "მომწოდებლის ID", "제조자 ID", "Identificatorul producătorului", "ИД произвођача",
    ]),
    (Key::Family, &[
        "CPU family", "Rodina CPU", "CPU-familie", "Prozessorfamilie", "Familia de CPU", "CPU familia",
        "Famille de processeur", "Familia do CPU", "Familija CPU-a", "Keluarga CPU", "CPU ファミリー",
        "Rodzina CPU", "Família da CPU", "Семейство ЦПУ", "CPU-familj", "İşlemci ailesi",
        "Сімейство процесорів", "Họ CPU", "CPU 系列", "CPU 家族", "CPU -ის ოჯახი", "CPU 계열", "Familia de CPU-uri",
        "Породица процесора",
    ]),
    (Key::Model, &[
        "Model", "Modell", "Modelo", "Modeloa", "Malli", "Modèle", "モデル", "Модель", "Mô hình", "型号", "型號",
        "მოდელი", "모델", "Модел",
    ]),
    (Key::ModelName, &[
        "Model name", "Název modelu", "Modelnavn", "Modellname", "Nombre del modelo", "Mallinimi",
        "Nom de modèle", "Ime modela", "モデル名", "Modelnaam", "Nazwa modelu", "Nome do modelo", "Имя модели",
        "Modellnamn", "Modem ismi", "Назва моделі", "Tên mô hình", "型号名称", "Მოდელის სახელი", "모델 이름",
        "Numele modelului", "Назив модела",
    ]),
    (Key::BiosModelName, &[
        "BIOS Model name", "Biosový název modelu", "BIOS-Modellname", "Nombre del modelo de BIOS",
        "Nom de modèle BIOS", "BIOS ime Modela", "Nazwa modelu wg BIOS", "Nome do modelo da BIOS",
        "Назва моделі BIOS", "BIOS 型号名称", "BIOS モデル名", "BIOS-ის Მოდელის სახელი", "BIOS 모델 이름",
        "BIOS-modelnaam", "Numele modelului BIOS", "Назив БИОС модела",
    ]),
    (Key::Stepping, &[
        "Stepping", "Modelserie", "Revisión", "Stepping-a", "Révision", "ステッピング", "Wersja", "Passos", "Step",
        "Степпинг", "Stegning", "Adımlama", "Модифікація", "Bước", "步进", "製程", "스테핑", "Revizia", "Искорак",
    ]),
    (Key::Boost, &[
        "Frequency boost", "Navýšení frekvence", "Frekvensløft", "Übertaktung", "Aumento de frecuencia",
        "Accroissement de fréquence", "Povećanje frekvencije", "Zwiększenie częstotliwości",
        "Aumento de frequência", "Frekvenshöjning", "Збільшення частоти", "周波数ブースト", "주파수 가속",
        "Frequentie-boost", "Creșterea frecvenței", "Пораст учесталости",
    ]),
    (Key::Mhz, &[
        "CPU MHz", "CPU dynamic MHz", "CPU dynamické MHz", "CPU dynamisk MHz",
        "Dynamische Taktfrequenz der CPU in MHz", "CPU MHz dinámicos",
        "Vitesse dynamique du processeur en MHz", "Dinamička frekvencija CPU-a (MHz)",
        "dynamische CPU-frequentie (MHz)", "CPU dynamiczne MHz", "CPU MHz dinâmicos", "CPU com MHz dinâmico",
        "İşlemci dinamik MHz", "Динамічна частота процесора у МГц", "CPU 动态 MHz",
        "Vitesse du processeur en MHz", "Mhz do CPU", "CPU frekvencija (MHz)", "CPU-frequentie (MHz)",
        "İşlemci MHz", "Частота у МГц", "CPU 動的 MHz", "동적 CPU MHz",
        "Frecvența dinamică a procesorului în MHz", "Динамички MHz процесора",
    ]),
    (Key::MaxMhz, &[
        "CPU max MHz", "CPU max. MHz", "CPU maks. MHz", "Maximale Taktfrequenz der CPU", "CPU MHz máx.",
        "Vitesse maximale du processeur en MHz", "CPU max frekvencija (MHz)", "CPU 最大 MHz",
        "max. CPU-frequentie (MHz)", "CPU MHz máximos", "İşlemci en yüksek MHz",
        "Макс. частота процесора у МГц", "Tần số đồng hồ CPU tối đa (MHz)", "최대 CPU MHz",
        "Frecvența maximă a procesorului în MHz", "Највише MHz процесора",
    ]),
    (Key::MinMhz, &[
        "CPU min MHz", "CPU min. MHz", "Minimale Taktfrequenz der CPU", "CPU MHz mín.",
        "Vitesse minimale du processeur en MHz", "CPU min frekvencija (MHz)", "CPU 最小 MHz",
        "min. CPU-frequentie (MHz)", "CPU MHz mínimos", "İşlemci asgari MHz", "Мін. частота процесора у МГц",
        "Tần số đồng hồ CPU tối thiểu (MHz)", "최소 CPU MHz", "Frecvența minimă a procesorului în MHz",
        "Најмање MHz процесора",
    ]),
    (Key::Hypervisor, &["Hypervisor"]),
    (Key::HypervisorVendor, &[
        "Hypervisor vendor", "Výrobce hypervizoru", "Hypervisorleverandør", "Hypervisor-Anbieter",
        "Fabricante del hipervisor", "Hypervisor-earen fabrikatzailea", "Constructeur d'hyperviseur",
        "Fabricante do hypervisor", "Proizvođač hipervizora", "Pembuat Hypervisor", "ハイパーバイザのベンダー",
        "Hypervisorproducent", "Producent hipernadzorcy", "Fornecedor do hipervisor",
        "Fabricante do hipervisor", "Разработчик гипервизора", "Hypervisortillverkare",
        "Hypervizör sağlayıcı", "Виробник гіпервізора", "Nhà cung cấp bộ ảo hóa", "超管理器厂商", "Hypervisor 供應商",
        "하이퍼바이저 제조", "Fabricant hipervizor", "Произвођач хипервизора",
    ]),
    (Key::VirtualizationType, &[
        "Virtualization type", "Druh virtualizace", "Virtualisationstype", "Virtualisierungstyp",
        "Tipo de virtualización", "Birtualizazio moeta", "Type de virtualisation", "Vrsta virtualizacije",
        "Tipe virtualisasi", "仮想化タイプ", "Virtualisatiesoort", "Typ wirtualizacji", "Tipo de virtualização",
        "Тип виртуализации", "Virtualiseringstyp", "Sanallaştırma tipi", "Тип віртуалізації", "Kiểu ảo hóa",
        "虚拟化类型", "虛擬型態", "Tip virtualizacije", "가상화 형식", "Tipul de virtualizare", "Врста виртуелизације",
    ]),
    (Key::Flags, &[
        "Flags", "Příznaky", "Flag", "Markierungen", "Indicadores", "Liput", "Drapeaux", "Flagovi", "フラグ",
        "Vlaggen", "Flagi", "Bandeiras", "Opções", "Флаги", "Flaggor", "Bayraklar", "Прапорці", "标记",
        "ალმები", "플래그", "Fanioane", "Опције",
    ]),
    (Key::Cache, &[
        "%s cache", "%s keš", "%s mellemlager", "%s Cache", "Caché %s", "Cache %s", "%s キャッシュ", "cache %s",
        "cache de %s", "%s önbelleği", "Кеш %s", "%s 缓存", "%s ქეში", "%s 캐시", "%s-cache", "%s остава",
    ]),
    (Key::NodeCpus, &[
        "NUMA node%d CPU(s)", "CPU NUMA uzlu %d", "NUMA-knuder%d CPU'er", "NUMA-Knoten%d CPU(s)",
        "CPU(s) del nodo NUMA %d", "Nœud NUMA %d de processeur(s)", "NUMA ノード %d CPU", "NUMA-node%d CPU('s)",
        "Procesory węzła NUMA %d", "CPUs de nó%d NUMA", "CPU(s) de nó%d NUMA", "NUMA-nod%d CPU(er)",
        "NUMA düğüm%d işlemci", "Процесори вузла%d NUMA", "CPU nút%d NUMA", "NUMA 节点%d CPU", "NUMA 노드%d CPU",
        "CPU-uri pe nodul NUMA %d", "NUMA чвор%d процесора",
    ]),
    (Key::Vulnerability, &[
        "Vulnerability %s", "Zranitelnost %s", "Schwachstelle %s", "Vulnerabilidad %s", "Vulnérabilité %s",
        "Ranjivosti %s", "Podatność %s", "Vulnerabilidade %s", "Вразливість %s", "脆弱性 %s", "მოწყვლადობა %s",
        "%s 취약성", "Kwetsbaarheid %s", "Vulnerabilitate %s", "Рањивост „%s“",
    ]),
    (Key::Other, &[
        "Byte Order", "Pořadí bajtů", "Byterækkefølge", "Byte-Reihenfolge", "Orden de los bytes",
        "Tavujärjestys", "Boutisme", "Poredak bajtova", "バイト順序", "Bytevolgorde", "Kolejność bajtów",
        "Ordem de byte", "Ordem dos bytes", "Порядок байт", "Byteordning", "Bayt Sıralaması",
        "Порядок байтів", "Thứ tự Byte", "字节序", "ბაიტების რიგი", "바이트 순서", "Ordinea octeților",
        "Редослед бајтова",
        "Patic na knihu", "Sokler per bog", "Sockel pro Buch", "«Socket(s)» por libro", "Socket(s) par livre",
        "Podnožja po knjizi", "ブックあたりのソケット数", "Voeten per boek", "Gniazd na tom", "Sockets por livro",
        "Soquete(s) por book", "Uttag per bok", "Kitap başına soket", "Сокетів на книгу",
        "Số Socket(s) trên mỗi lần đợi", "每个 book 的座数", "북 당 소켓 수", "Socluri per „book” (placă modulară)",
        "Прикључница по књизи", "Knihy", "Bøger", "Buch/Bücher", "Libro(s)", "Livre(s)", "Knjiga",
        "ブック数", "Boeken", "Tomów", "Livros", "Böcker", "Kitap(lar)", "Книги", "Chỗ giữ", "Book", "북",
        "„Books” (plăci modulare)", "Књиге", "Knih na zásuvku", "Bøger per skuffe",
        "Buch/Bücher pro Schublade", "Libro(s) por cajón", "Livre(s) par tiroir", "Knjiga po ladici",
        "Boeken per lade", "Tomów na półkę", "Livros por gaveta", "Book(s) por drawer", "Böcker per låda",
        "Sürgü başına kitap", "Книг на шухляду", "每个抽屉里的 Book 数", "ドロワーあたりのブック数", "드로워당 북 수",
        "„Books” (plăci modulare) pe sertar", "Књига по фиоци", "Zásuvky", "Skuffer",
        "Schublade(n)", "Cajón(es)", "Tiroir(s)", "Ladica", "Lades", "Półek", "Gavetas", "Lådor",
        "Sürgü(ler)", "Шухляд", "抽屉", "ドロワー数", "드로워", "Sertare", "Фиоке", "Machine type", "Typ stroje",
        "Maskintype", "Maschinentyp", "Tipo de máquina", "Type de machine", "Vrsta stroja", "Machinetype",
        "Typ maszyny", "Tipo da máquina", "Maskintyp", "Makine tipi", "Тип архітектури", "机器类型", "Tip stroja",
        "マシンタイプ", "მანქანის ტიპი", "머신 형식", "Tipul de mașină", "Врста машине", "CPU static MHz",
        "CPU statické MHz", "CPU statisk MHz", "Statische Taktfrequenz der CPU in MHz", "CPU MHz estáticos",
        "Vitesse statique du processeur en MHz", "Statička frekvencija CPU-a (MHz)",
        "vaste CPU-frequentie (MHz)", "CPU statyczne MHz", "CPU com MHz estático", "İşlemci statik MHz",
        "Статична частота процесора у МГц", "CPU 静态 MHz", "CPU 静的 MHz", "정적 CPU MHz",
        "Frecvența statică a procesorului în MHz", "Статички MHz процесора", "CPU(s) scaling MHz",
        "CPU relativní MHz", "Skalierung der CPU(s)", "multiplication des MHz du/des CPU(s)",
        "Skaliranje CPU(s), MHz", "Skalowanie MHz CPU", "Масштабування процесорів, МГц",
        "CPU(s) factor de escala MHz", "CPU スケーリング MHz", "CPU 스케일링 MHz", "CPU-frequentieniveau",
        "CPU(s) MHz de escala", "Scalarea frecvenței procesoarelor, în MHz", "MHz скалирања процесора",
        "BogoMIPS", "Microcode version", "Virtualization", "Virtualizace", "Virtualisation", "Virtualisierung", "Virtualización",
        "Birtualizazioa", "Virtualisointi", "Virtualizacija", "Virtualisasi", "仮想化", "Virtualisatie",
        "Wirtualizacja", "Virtualização", "Виртуализация", "Virtualisering", "Sanallaştırma", "Віртуалізація",
        "Ảo hóa", "虚拟化", "虛擬", "가상화", "Virtualizare", "Виртуелизација", "Dispatching mode",
        "Režim rozhodování", "Afsendelsestilstand", "Dispatching-Modus", "Modo de distribución",
        "Mode distribué", "Dispečerski mȏd", "ディスパッチモード", "Dispatching-modus", "Tryb przekazywania",
        "Modo de expedição", "Modo de despacho", "Avsändningsläge", "Gönderim kipi", "Режим розподілу",
        "Chế độ điều phối", "分派模式", "디스패치 모드", "Modul de distribuire", "Режим обавештавања",
        "Physical sockets", "Physical chips", "Physical cores/chip", "Fyzické sockety", "Fyzické čipy",
        "Fyzická jádra/čip", "Fysiske sokler", "Fysiske chip", "Fysiske kerner/chip",
        "Anzahl der physischen Sockel", "Anzahl physischer Chips", "Anzahl physischer Kerne/Chips",
        "«Sockets» físicos", "Chips físicos", "Núcleos/chips físicos", "Sockets physiques",
        "Processeurs matériels", "Processeurs / cœurs matériels", "Broj fizičkih podnožja",
        "Broj fizičkih čipova", "Broj fizičkih jezgri/čip", "物理ソケット数", "物理チップ数", "物理コア数/チップ",
        "Fysieke voeten", "Fysieke chips", "Fysieke cores/chip", "Fizyczne gniazda", "Fizyczne układy",
        "Fizyczne rdzenie/układ", "Sockets físicos", "Circuitos integrados físicos",
        "Núcleos/Circuitos integrados físicos", "Soquetes físicos", "núcleos/chips físicos", "Fysiska uttag",
        "Fysiska chip", "Fysiska kärnor/chip", "Fiziksel soketler", "Fiziksel çipler",
        "Fiziksel çekirdekler/çipler", "Фізичні сокети", "Фізичні мікросхеми", "Фізичні ядра/мікросхема",
        "物理套接字", "物理芯片", "物理核心/芯片", "물리 소켓", "물리 칩", "물리 코어/칩", "Socluri fizice", "Cipuri fizice",
        "Nuclee/cipuri fizice", "Физичке прикључнице", "Физички чипови", "Физичка језгра/чипови",
        "Virtualization features", "Caches (sum of all)", "Caches", "NUMA", "Vulnerabilities",
        "Vlastnosti virtualizace", "Keše (celkový součet)", "Keše", "Zranitelnosti",
        "Virtualisierungsfunktionen", "Caches (Gesamtsumme)", "Schwachstellen",
        "Características de virtualización", "Cachés (suma de todas)", "Cachés", "Vulnerabilidades",
        "Fonctionnalités de virtualisation", "Caches (somme de toutes)", "Vulnérabilités",
        "Značajke virtualizacije", "Spremnici (ukupni zbroj)", "Ranjivosti", "Właściwości wirtualizacji",
        "Pamięci podręczne (w sumie)", "Pamięci podręczne", "Podatności", "Funcionalidades da virtualização",
        "Caches (soma de todas)", "Recursos de virtualização", "Caches (soma de todos)",
        "Можливості віртуалізації", "Кеші (сума усіх)", "Кеші", "Вразливості", "缓存", "仮想化機能", "キャッシュ (合計)",
        "キャッシュ", "脆弱性", "ქეშები", "მოწყვლადობები", "가상화 기능", "캐시 (총합)", "캐시", "취약성", "Virtualisatiefuncties",
        "Kwetsbaarheden", "Caracteristici de virtualizare", "Caches (suma tuturor)", "Vulnerabilități",
        "Могућности визуелизације", "Оставе (збир свих)", "Оставе", "Рањивости", "BIOS Vendor ID",
        "Biosové ID výrobce", "BIOS-Anbieterkennung", "ID de fabricante de BIOS",
        "Identifiant constructeur du BIOS", "ID proizvođača BIOSA-a", "ID producenta BIOS-u",
        "ID de fornecedor da BIOS", "Ідентифікатор виробника BIOS", "BIOS 厂商 ID", "BIOS ベンダー ID",
        "BIOS 제조사 ID", "BIOS-producent-ID", "Identificatorul producătorului BIOS", "ИД произвођача БИОС-а",
        "BIOS CPU family", "Biosová rodina CPU", "BIOS-Prozessorfamilie", "Famille de processeur BIOS",
        "BIOS CPU familija", "Rodzina CPU wg BIOS", "Сімейство процесорів за BIOS", "Familia de CPU BIOS",
        "BIOS CPU ファミリー", "BIOS -ის CPU -ის ოჯახი", "BIOS CPU 계열", "BIOS-CPU-familie",
        "Família da CPU da BIOS", "Familia de procesoare BIOS", "Породица процесора БИОС-а",
        "Hypervizor", "Hipervisor", "Hyperviseur", "Hipervizor", "ハイパーバイザ", "Hipernadzorca", "Гипервизор",
        "Hypervizör", "Гіпервізор", "超管理器", "ჰაიპერვაიზორი", "하이퍼바이저", "Хипервизор",
    ]),
];

/// What stands for `enabled`.
#[rustfmt::skip]
pub(super) const ENABLED: &[&str] = &[
    "activada", "activado", "activată", "activé", "aktiverad", "aktiveret", "aktiviert", "enabled",
    "habilitado", "ingeschakeld", "omogućeno", "włączone", "zapnuto", "увімкнено", "укључено", "ჩართული",
    "使用する", "启用", "활성",
];

/// What stands for `disabled`.
#[rustfmt::skip]
pub(super) const DISABLED: &[&str] = &[
    "deaktiveret", "deaktiviert", "desabilitado", "desactivada", "desactivado", "dezactivată", "disabled",
    "désactivé", "inaktiverad", "onemogućeno", "uitgeschakeld", "vypnuto", "wyłączone", "вимкнено",
    "искључено", "გამორთულია", "使用しない", "禁用", "비활성",
];
